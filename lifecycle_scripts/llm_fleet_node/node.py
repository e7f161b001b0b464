"""The argument of every step: the node's identity, the manifest and the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.host import Host
from llm_fleet_node.identity import PARALLELCLUSTER, Identity
from llm_fleet_node.manifest import Group, InstanceType, Manifest
from llm_fleet_node.places import Places


@dataclass(frozen=True)
class Node:
    """This node, for its steps."""

    manifest: Manifest
    """The configuration of the fleet."""
    identity: Identity
    """The identity of this node and of the other nodes."""
    places: Places
    """The paths of the platform's files."""
    host: Host
    """The machine: read and change it only with this object."""
    hook: str
    """The hook that started the run, e.g. `OnCreate`."""
    say: Callable[[str], None]
    """Write a line to the node's log."""

    @property
    def group(self) -> Group:
        """The node's instance group."""
        return self.identity.group

    @property
    def role(self) -> str:
        """`Controller`, `Login` or `Compute`."""
        return self.identity.group.role

    @property
    def on_parallelcluster(self) -> bool:
        """Whether the node belongs to AWS ParallelCluster, which mounts and configures much itself."""
        return self.manifest.platform == PARALLELCLUSTER

    @property
    def instance_type(self) -> Optional[InstanceType]:
        """The node's instance type with its devices; `None` if its group has several types and it is unknown."""
        types = {kind.name: kind for kind in self.group.instance_types}
        if self.identity.instance_type in types:
            return types[self.identity.instance_type]
        return next(iter(types.values())) if len(types) == 1 else None
