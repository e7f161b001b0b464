"""What the fleet file says that instance groups are for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from llm_fleet.cli.nodes.node import NodeRole

if TYPE_CHECKING:
    from llm_fleet.cli.place.place import Place
    from llm_fleet.config.fleet import Fleet


def roles_of_place(fleet: "Fleet | None", place: "Place") -> Mapping[str, NodeRole]:
    """Return the roles of the groups of a HyperPod cluster of `fleet`; empty for anything else."""
    cluster = fleet.hyperpod_clusters.get(place.key) if fleet and place.key else None
    if cluster is None:
        return {}
    return {group.name: NodeRole(group.node_type.lower()) for group in cluster.groups.values()}
