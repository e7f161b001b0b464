"""Nodes on plain Linux, as root; used in continuous integration. Requires util-linux, iproute2 and overlayfs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from llm_fleet_local.drill.image.image import Image
from llm_fleet_local.drill.image.prerequisites import MissingPrerequisite, provide
from llm_fleet_local.drill.network.cluster_network import ClusterNetwork
from llm_fleet_local.drill.nodes.backend import NodePlan
from llm_fleet_local.drill.nodes.cluster_nodes import ClusterNodes
from llm_fleet_local.drill.nodes.cluster_record import clear, new_cluster
from llm_fleet_local.drill.nodes.control_groups import ControlGroups
from llm_fleet_local.drill.nodes.node import NodeError
from llm_fleet_local.drill.nodes.sweep import sweep
from llm_fleet_local.drill.nodes.unshare_node import UnshareNode

_WATCHERS = Path("/proc/sys/fs/inotify/max_user_instances")
_WATCHERS_WANTED = 4096
"""Each systemd uses several inotify instances; with the kernel's 128, nodes after about the 25th would hang at boot."""


class UnshareBackend(ClusterNodes[UnshareNode]):
    """One cluster's nodes (see `nodes.backend.Backend`). Clusters of killed drills are removed first.

    Everything is in `work`, except the control groups (`llm-fleet-drill/<cluster>` in every hierarchy) and one limit of
    the machine: fs.inotify.max_user_instances is raised to 4096 and not reset.
    """

    at_once = 16

    def __init__(
        self, image: Image, work: Path, *, subnet: str = "10.66.0.0/16", say: Callable[[str], None] = print
    ) -> None:
        """Create the cluster's folder and network, and no node yet. Raises `MissingPrerequisite` without root."""
        if os.geteuid() != 0:
            raise MissingPrerequisite(
                "the drill creates namespaces and mounts for its nodes, which requires root",
                'run it as root, e.g. `sudo "$(command -v llm-fleet)" local drill`, or add --backend docker',
            )
        provide("unshare", "nsenter", "setpriv", "ip", say=say)
        sweep(work, say)
        _allow_watchers()
        self._image = image
        self._cluster, folder = new_cluster(work)
        super().__init__(folder, subnet)
        self._network = ClusterNetwork(self._folder, self._cluster, subnet)
        try:
            self._network.make()
        except BaseException:
            self.close()
            raise

    @property
    def network(self) -> ClusterNetwork:
        """The cluster's network."""
        return self._network

    def close(self) -> None:
        """Remove all nodes, the network and everything that was created for them."""
        if self._folder.exists():
            clear(self._cluster, self._folder)

    def _node(self, plan: NodePlan) -> UnshareNode:
        folder = self._folder / "nodes" / plan.name
        if folder.exists():
            raise NodeError(f"a node {plan.name} already exists")
        folder.mkdir(parents=True)
        groups = ControlGroups(f"{self._cluster}/{plan.name}")
        return UnshareNode(plan, self._image.layers, folder, groups, self._network)


def _allow_watchers() -> None:
    if int(_WATCHERS.read_text()) < _WATCHERS_WANTED:
        _WATCHERS.write_text(str(_WATCHERS_WANTED))
