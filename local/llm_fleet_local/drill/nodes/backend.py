"""The interface of back ends, which create and remove the nodes and the network of one cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from llm_fleet_local.drill.nodes.node import Node, Running


@dataclass(frozen=True)
class NodePlan:
    """The description of a node that a back end creates."""

    name: str
    """Host name, e.g. `ip-10-66-1-1`."""
    address: str
    """IPv4 address inside the network's subnet."""
    shared: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Folders of the machine by mount point. They are kept when the node is removed."""
    tmpfs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Sizes of file systems in memory by path, e.g. `{"/opt/dlami/nvme": "64M"}`; they are empty at each boot."""


class Network(Protocol):
    """The network of one cluster's nodes. It is isolated from other clusters and the machine's network."""

    @property
    def subnet(self) -> str:
        """Addresses, e.g. `10.66.0.0/16`."""
        ...

    @property
    def services_address(self) -> str:
        """Address in the network of the programs that `start` starts: the AWS emulator, mirrors."""
        ...

    def start(self, *command: str, env: Mapping[str, str] | None = None, log: Path, cwd: Path | None = None) -> Running:
        """Start a program of the machine in the network, e.g. a server that binds to `services_address`.

        Its environment is `env` alone, by default the caller's. It ends with the cluster.
        """
        ...


class Backend(Protocol):
    """The nodes of one cluster. Leaving its context destroys them all."""

    @property
    def network(self) -> Network:
        """The cluster's network."""
        ...

    @property
    def folder(self) -> Path:
        """A folder of the machine for logs and shared file systems; it is removed with the cluster."""
        ...

    def create(
        self,
        name: str,
        address: str,
        *,
        shared: Mapping[str, Path] | None = None,
        tmpfs: Mapping[str, str] | None = None,
    ) -> Node:
        """Create and boot one node (see `NodePlan`); return when its systemd has booted. Raises `NodeError`."""
        ...

    def create_all(self, plans: Sequence[NodePlan]) -> Sequence[Node]:
        """Create and boot nodes in parallel; return them in the order of `plans` when all have booted."""
        ...

    def close(self) -> None:
        """Remove all nodes, the network and everything that was created for them."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
