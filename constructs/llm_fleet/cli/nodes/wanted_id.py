"""Finds the id by which logs and events know the node that a person means."""

import re
from typing import TYPE_CHECKING

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.nodes.listed_nodes import listing_of
from llm_fleet.cli.nodes.node import NodeRole
from llm_fleet.cli.nodes.roles import roles_of_place
from llm_fleet.cli.nodes.wanted_node import wanted_node
from llm_fleet.cli.place.place import Place
from llm_fleet.rules.day_two.nodes_codes import NodesCode

if TYPE_CHECKING:
    from llm_fleet.config.fleet import Fleet

_WHOLE_ID = re.compile(r"i-[0-9a-f]{8,17}|[0-9a-f]{16,}")
"""Of an instance, or of a task of ECS."""


def wanted_id(clients: AwsClients, place: Place, asked: str, *, fleet: "Fleet | None" = None) -> str:
    """Return the instance id, of a service's task the task's id, of the node that `asked` means (`wanted_node`).

    A whole id is returned as it is, and nobody is asked: logs and events outlive the node. Raises `AwsRefusal`,
    `FleetError` (LF1100 to LF1103).
    """
    word = asked.strip()
    if _WHOLE_ID.fullmatch(word):
        return word
    node = wanted_node(listing_of(clients, place, roles=roles_of_place(fleet, place)), word)
    found = node.logical_id if node.role is NodeRole.TASK else node.instance_id
    if found is None:
        refuse(
            NodesCode.NODE_NOT_RUNNING,
            f"{node.label} has no machine yet",
            "wait until it has one, `llm-fleet nodes --watch` shows it",
            subject=str(place),
            value=asked,
        )
    return found
