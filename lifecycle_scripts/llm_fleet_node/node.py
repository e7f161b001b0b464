"""What a step is given: who the node is, what the fleet wants of it, and the machine."""

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
    """This node, as its steps see it."""

    manifest: Manifest
    """What the fleet's owner asked for."""
    identity: Identity
    """Who this node is, and who its neighbours are."""
    places: Places
    """Where the platform's files are."""
    host: Host
    """The machine: look and change only through it."""
    hook: str
    """What started the run, e.g. `OnCreate`."""
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
        """Whether AWS ParallelCluster runs the node, which has mounted and configured much by itself."""
        return self.manifest.platform == PARALLELCLUSTER

    @property
    def instance_type(self) -> Optional[InstanceType]:
        """The node's type with what it is expected to have; `None` when its group mixes types and none can be told."""
        types = {kind.name: kind for kind in self.group.instance_types}
        if self.identity.instance_type in types:
            return types[self.identity.instance_type]
        return next(iter(types.values())) if len(types) == 1 else None
