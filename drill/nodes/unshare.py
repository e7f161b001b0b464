"""Nodes on plain Linux, as root: what continuous integration uses. It needs util-linux, iproute2 and overlayfs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from types import TracebackType
from typing import Self

from drill.image.image import Image
from drill.image.prerequisites import MissingPrerequisite, provide
from drill.network.cluster_network import ClusterNetwork
from drill.nodes.backend import NodePlan
from drill.nodes.cluster_record import clear, new_cluster
from drill.nodes.control_groups import ControlGroups
from drill.nodes.node import NodeError
from drill.nodes.sweep import sweep
from drill.nodes.unshare_node import UnshareNode

_WATCHERS = Path("/proc/sys/fs/inotify/max_user_instances")
_WATCHERS_WANTED = 4096
"""A systemd takes several; with the kernel's 128, every node after about the 25th would hang at boot."""
_AT_ONCE = 16
"""Nodes that boot side by side."""


class UnshareBackend:
    """One cluster's nodes (see `drill.nodes.backend.Backend`). Clusters of drills that were killed are cleared away.

    Everything is below `work` but the control groups (`llm-fleet-drill/<cluster>` in every hierarchy) and one limit of
    the machine that is raised and stays so: fs.inotify.max_user_instances, to 4096.
    """

    def __init__(
        self, image: Image, work: Path, *, subnet: str = "10.66.0.0/16", say: Callable[[str], None] = print
    ) -> None:
        """Make the cluster's folder and network; no node yet. Raises `MissingPrerequisite` where that cannot be."""
        if os.geteuid() != 0:
            raise MissingPrerequisite("nodes on plain Linux need root: run the drill as root, or use --backend docker")
        provide("unshare", "nsenter", "setpriv", "ip", say=say)
        sweep(work, say)
        _allow_watchers()
        self._image = image
        self._cluster, self._folder = new_cluster(work)
        self._nodes: list[UnshareNode] = []
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
    ) -> UnshareNode:
        """Make and boot one node."""
        return self.create_all([NodePlan(name, address, shared or {}, tmpfs or {})])[0]

    def create_all(self, plans: Sequence[NodePlan]) -> list[UnshareNode]:
        """Make and boot nodes side by side; return them in the order of `plans`."""
        nodes = [self._node(plan) for plan in plans]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(UnshareNode.create, nodes))
        return nodes

    def close(self) -> None:
        """Destroy all nodes and the network, and remove everything that was made for them."""
        if self._folder.exists():
            clear(self._cluster, self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _node(self, plan: NodePlan) -> UnshareNode:
        if IPv4Address(plan.address) not in IPv4Network(self._network.subnet):
            raise NodeError(f"{plan.name}: {plan.address} is not in the cluster's {self._network.subnet}")
        folder = self._folder / "nodes" / plan.name
        if folder.exists():
            raise NodeError(f"there is a node {plan.name} already")
        folder.mkdir(parents=True)
        groups = ControlGroups(f"{self._cluster}/{plan.name}")
        return UnshareNode(plan, self._image.layers, folder, groups, self._network)


def _allow_watchers() -> None:
    if int(_WATCHERS.read_text()) < _WATCHERS_WANTED:
        _WATCHERS.write_text(str(_WATCHERS_WANTED))
