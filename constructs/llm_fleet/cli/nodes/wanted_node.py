"""Which node is meant: by name, id or role."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.failures import refuse
from llm_fleet.cli.nodes.list_nodes import listing_of
from llm_fleet.cli.nodes.node import Listing, Node, NodeRole, roles_of_place
from llm_fleet.cli.place import Place
from llm_fleet.cli.terminal.screen import counted
from llm_fleet.rules.command_codes import NodesCode
from llm_fleet.rules.values import nearest

if TYPE_CHECKING:
    from llm_fleet.fleet_file.fleet import Fleet


_FIRST = (NodeRole.LOGIN, NodeRole.CONTROLLER, NodeRole.HEAD, NodeRole.TASK, NodeRole.HOST)
"""Where a person works when nothing is asked for."""
_ANY = (NodeRole.LOGIN, NodeRole.CONTROLLER, NodeRole.HEAD)
"""Roles whose nodes are alike: the first that runs will do."""
_CANDIDATES = 8
_LEAST_OF_ID = 5
"""Signs of an instance id that are taken for its beginning, e.g. `i-0ab`."""


def wanted_node(listing: Listing, asked: str | None) -> Node:
    """Return the node that `asked` means, whether it runs or not; by default a login node, else the controller.

    `asked`: a role, e.g. `controller`; a group and number as the table shows them, e.g. `trn1-3`; a group of one node;
    an instance id or its beginning; what Slurm calls it; an address. Raises `FleetError` (LF1100 to LF1103).
    """
    if not listing.nodes:
        refuse(
            NodesCode.NO_NODES,
            "there is no node at all yet",
            "wait until there is one, `llm-fleet nodes --watch` shows it; `llm-fleet events` tells why it takes long",
            subject=listing.name,
        )
    if asked is None:
        return _first(listing)
    word = asked.strip().lower()
    found = _matches(listing.nodes, word)
    if len(found) > 1 and word in _ANY:
        found = [next((node for node in found if node.running), found[0])]
    if len(found) > 1:
        _refuse_many(listing, asked, found)
    if not found:
        _refuse_unknown(listing, asked, word)
    return found[0]


def _first(listing: Listing) -> Node:
    for role in _FIRST:
        for node in listing.nodes:
            if node.role is role and node.running and (node.target or node.task_arn):
                return node
    states = ", ".join(f"{node.label} is {node.status}" for node in listing.nodes if node.role in _FIRST)
    refuse(
        NodesCode.NODE_NOT_RUNNING,
        f"no node where people work runs: {states or 'nobody tells what its nodes are for'}",
        f"name one of {_labels(listing.nodes)}",
        subject=listing.name,
    )


def _matches(nodes: Sequence[Node], word: str) -> list[Node]:
    """Return the nodes of the first way to read `word` that there are any of."""
    ways: tuple[Callable[[Node], bool], ...] = (
        lambda node: word in (node.label.lower(), node.instance_id, node.logical_id, node.address),
        lambda node: node.name is not None and word.partition(".")[0] == node.name.lower(),
        lambda node: word == node.group.lower(),
        lambda node: word == node.role,
        lambda node: len(word) >= _LEAST_OF_ID and bool(node.instance_id) and str(node.instance_id).startswith(word),
        # Not the beginning of a logical id: it begins as a label does, and would be another node than the one meant.
    )
    for way in ways:
        found = [node for node in nodes if way(node)]
        if found:
            return found
    return []


def _refuse_many(listing: Listing, asked: str, found: Sequence[Node]) -> None:
    refuse(
        NodesCode.NODE_AMBIGUOUS,
        f"{len(found)} nodes answer to it",
        f"name one of {_labels(found)}",
        subject=listing.name,
        value=asked,
    )


def _refuse_unknown(listing: Listing, asked: str, word: str) -> None:
    group = next((node.group for node in listing.nodes if word.startswith(f"{node.group.lower()}-")), None)
    alike = [node for node in listing.nodes if node.group == group] or listing.nodes
    names = [name for node in listing.nodes for name in (node.label, node.name, node.group) if name]
    offer, nodes = nearest(asked, names), counted(len(alike), "node")
    refuse(
        NodesCode.NODE_UNKNOWN,
        f"group {group} has {nodes}" if group else _why(word),
        f"write {offer!r}" if offer and group is None else f"name one of {_labels(alike)}",
        subject=listing.name,
        value=asked,
    )


def _why(word: str) -> str:
    if word.startswith("i-"):
        return "no node has this instance id; a node that was replaced has a new one"
    return "there is no such node, nor role or group"


def _labels(nodes: Sequence[Node]) -> str:
    told = [f"{node.label} ({node.instance_id or node.status})" for node in nodes[:_CANDIDATES]]
    more = len(nodes) - len(told)
    return ", ".join(told) + (f" and {more} more; `llm-fleet nodes` shows all" if more > 0 else "")


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
