"""Lists the nodes of a cluster, or the hosts and tasks of a service, in as few calls as AWS allows."""

from collections.abc import Callable, Mapping, Sequence

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.nodes.hyperpod_nodes import hyperpod_listing
from llm_fleet.cli.nodes.listing import Listing
from llm_fleet.cli.nodes.node import Node, NodeRole
from llm_fleet.cli.nodes.parallelcluster_nodes import parallelcluster_listing
from llm_fleet.cli.nodes.service_nodes import service_listing
from llm_fleet.cli.place.place import Kind, Place

Seen = Callable[[int], None]
"""Told how many nodes there are so far."""


def list_nodes(clients: AwsClients, place: Place, *, roles: Mapping[str, NodeRole] | None = None) -> Sequence[Node]:
    """Return the nodes of `place`, by group and in the order of their launch.

    `roles`: of HyperPod's instance groups, where AWS may not tell them (`roles_of_place`). Raises `AwsRefusal`, or
    `FleetError` (LF1100) where there is nothing.
    """
    return listing_of(clients, place, roles=roles).nodes


def listing_of(
    clients: AwsClients, place: Place, *, roles: Mapping[str, NodeRole] | None = None, seen: Seen | None = None
) -> Listing:
    """Return the nodes of `place` with what AWS tells of the whole. `roles` and errors: see `list_nodes`."""
    told = seen or _nobody
    if place.kind is Kind.HYPERPOD:
        return hyperpod_listing(clients, place, roles=roles or {}, seen=told)
    if place.kind is Kind.PARALLELCLUSTER:
        return parallelcluster_listing(clients, place, seen=told)
    return service_listing(clients, place, seen=told)


def _nobody(_: int) -> None:
    """Nobody looks."""
