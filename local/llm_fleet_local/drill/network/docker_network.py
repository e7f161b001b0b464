"""The network of one cluster whose nodes are containers: an isolated bridge network of the engine."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from ipaddress import IPv4Network
from pathlib import Path

from llm_fleet_local.drill.nodes.docker_engine import Engine
from llm_fleet_local.drill.nodes.node import NodeError
from llm_fleet_local.drill.nodes.processes import Started


class DockerNetwork:
    """See `llm_fleet_local.drill.nodes.backend.Network`. Two clusters on one engine need different subnets."""

    def __init__(self, engine: Engine, name: str, subnet: str) -> None:
        """Set the engine, the network's name and its addresses; nothing is created yet."""
        self._engine = engine
        self.name = name
        self._network = IPv4Network(subnet)
        self._started: list[Started] = []

    @property
    def subnet(self) -> str:
        """Addresses, e.g. `10.66.0.0/16`."""
        return str(self._network)

    @property
    def services_address(self) -> str:
        """The bridge's own address on the machine."""
        return str(self._network[1])

    def make(self) -> None:
        """Create the network. Raises `NodeError`, e.g. when its addresses are in use."""
        where = [f"--subnet={self.subnet}", f"--gateway={self.services_address}"]
        self._engine.run("network", "create", "--internal", *where, self.name)

    def start(self, *command: str, env: Mapping[str, str] | None = None, log: Path, cwd: Path | None = None) -> Started:
        """Start a program of the machine that binds to `services_address`; it ends with the cluster.

        This machine has that address when the engine runs on it. Raises `NodeError` when the engine runs in a virtual
        machine (Docker Desktop on macOS and Windows), which then has the address.
        """
        if platform.system() != "Linux":
            raise NodeError("services for nodes require an engine on Linux, and this one runs in a virtual machine")
        started = Started(command, log=log, env=env, cwd=cwd)
        self._started.append(started)
        return started

    def close(self) -> None:
        """End the started programs. The network is removed with the cluster's containers."""
        for started in self._started:
            started.kill()
