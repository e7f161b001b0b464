"""Nodes that are containers of Docker or Podman: what a laptop has. Slower than plain Linux, and needs an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from types import TracebackType
from typing import Self

from drill.network.docker_network import DockerNetwork
from drill.nodes.backend import NodePlan
from drill.nodes.cluster_record import clear, new_cluster
from drill.nodes.docker_engine import Engine, clear_containers, cluster_name
from drill.nodes.docker_node import DockerNode
from drill.nodes.node import NodeError
from drill.nodes.sweep import sweep

_AT_ONCE = 4


class DockerBackend:
    """One cluster's nodes (see `drill.nodes.backend.Backend`). Clusters of drills that were killed are cleared away."""

    def __init__(
        self,
        engine: Engine,
        image: str,
        work: Path,
        *,
        subnet: str = "10.66.0.0/16",
        say: Callable[[str], None] = print,
    ) -> None:
        """Take the engine and the name of a node image it has; make the cluster's folder and network."""
        sweep(work, say)
        self._engine = engine
        self._image = image
        self._cluster, self._folder = new_cluster(work, engine.name)
        self._network = DockerNetwork(engine, cluster_name(self._cluster), subnet)
        self._names: set[str] = set()
        try:
            self._network.make()
        except BaseException:
            self.close()
            raise

    @property
    def network(self) -> DockerNetwork:
        """The cluster's network."""
        return self._network

    @property
    def folder(self) -> Path:
        """A folder of the machine that lives as long as the cluster."""
        return self._folder

    def create(
        self,
        name: str,
        address: str,
        *,
        shared: Mapping[str, Path] | None = None,
        tmpfs: Mapping[str, str] | None = None,
    ) -> DockerNode:
        """Make and boot one node."""
        return self.create_all([NodePlan(name, address, shared or {}, tmpfs or {})])[0]

    def create_all(self, plans: Sequence[NodePlan]) -> list[DockerNode]:
        """Make and boot nodes side by side; return them in the order of `plans`."""
        nodes = [self._node(plan) for plan in plans]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(DockerNode.create, nodes))
        return nodes

    def close(self) -> None:
        """Destroy all nodes and the network, and remove everything that was made for them."""
        if self._folder.exists():
            self._network.close()
            clear_containers(self._engine, self._cluster)
            clear(self._cluster, self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _node(self, plan: NodePlan) -> DockerNode:
        if IPv4Address(plan.address) not in IPv4Network(self._network.subnet):
            raise NodeError(f"{plan.name}: {plan.address} is not in the cluster's {self._network.subnet}")
        container = f"{cluster_name(self._cluster)}-{plan.name}"
        if self._engine.run("ps", "--all", "--quiet", f"--filter=name=^{container}$").stdout.strip():
            raise NodeError(f"there is a node {plan.name} already")
        network = self._network
        return DockerNode(plan, self._engine, self._image, container, network.name, network.services_address)
