"""Nodes that are containers of Docker or Podman, e.g. on a laptop. Slower than plain Linux; requires an engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from llm_fleet_local.drill.network.docker_network import DockerNetwork
from llm_fleet_local.drill.nodes.backend import NodePlan
from llm_fleet_local.drill.nodes.cluster_nodes import ClusterNodes
from llm_fleet_local.drill.nodes.cluster_record import clear, new_cluster
from llm_fleet_local.drill.nodes.docker_engine import Engine, clear_containers, cluster_name
from llm_fleet_local.drill.nodes.docker_node import DockerNode
from llm_fleet_local.drill.nodes.node import NodeError
from llm_fleet_local.drill.nodes.sweep import sweep


class DockerBackend(ClusterNodes[DockerNode]):
    """One cluster's nodes (see `nodes.backend.Backend`). Clusters of killed drills are removed first."""

    at_once = 4

    def __init__(
        self,
        engine: Engine,
        image: str,
        work: Path,
        *,
        subnet: str = "10.66.0.0/16",
        say: Callable[[str], None] = print,
    ) -> None:
        """Set the engine and the name of its node image; create the cluster's folder and network."""
        sweep(work, say)
        self._engine = engine
        self._image = image
        self._cluster, folder = new_cluster(work, engine.name)
        super().__init__(folder, subnet)
        self._network = DockerNetwork(engine, cluster_name(self._cluster), subnet)
        try:
            self._network.make()
        except BaseException:
            self.close()
            raise

    @property
    def network(self) -> DockerNetwork:
        """The cluster's network."""
        return self._network

    def close(self) -> None:
        """Remove all nodes, the network and everything that was created for them."""
        if self._folder.exists():
            self._network.close()
            clear_containers(self._engine, self._cluster)
            clear(self._cluster, self._folder)

    def _node(self, plan: NodePlan) -> DockerNode:
        container = f"{cluster_name(self._cluster)}-{plan.name}"
        if self._engine.run("ps", "--all", "--quiet", f"--filter=name=^{container}$").stdout.strip():
            raise NodeError(f"a node {plan.name} already exists")
        network = self._network
        return DockerNode(plan, self._engine, self._image, container, network.name, network.services_address)
