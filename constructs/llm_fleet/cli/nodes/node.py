"""A node, as every listing has it, the words for its roles and state, and which node is meant."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from llm_fleet.catalog.aws_api import ApiRate
from llm_fleet.cli.place import Place
from llm_fleet.cli.screen import counted
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import NodesCode
from llm_fleet.rules.values import nearest

if TYPE_CHECKING:
    from llm_fleet.cli.place import Place
    from llm_fleet.fleet_file.fleet import Fleet


class NodeRole(StrEnum):
    """What a node is for."""

    CONTROLLER = "controller"
    LOGIN = "login"
    HEAD = "head"
    COMPUTE = "compute"
    HOST = "host"
    """An instance under an inference service."""
    TASK = "task"
    """A task of an inference service: no machine, and yet something to look into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node of a cluster, or one host or task of a service. What AWS does not tell is `None`."""

    group: str
    """Instance group, queue or login pool; of a head node `head`; of a service `host` or `task`."""
    index: int
    """Its place in the group, from 1, in the order in which they were launched."""
    status: str
    """In AWS's words: of HyperPod `Running`, `Failure` …; of EC2 `running` …; of ECS `ACTIVE`, `RUNNING` …"""
    running: bool
    """Whether AWS says that it is up."""
    role: NodeRole | None = None
    instance_id: str | None = None
    """`None` before HyperPod has found a machine for it."""
    logical_id: str | None = None
    """HyperPod's, from the request for it to its end; of a task its id."""
    name: str | None = None
    """What Slurm calls it, e.g. `ip-10-1-2-3`."""
    message: str = ""
    """What AWS says of the status."""
    instance_type: str | None = None
    launched: datetime | None = None
    zone: str | None = None
    """Name of the AZ. ListClusterNodes does not tell it."""
    address: str | None = None
    """Private IPv4 address."""
    target: str | None = None
    """What Session Manager calls it; `None` where it does not reach."""
    task_arn: str | None = None
    """Of a task in which people may run commands (ECS Exec)."""

    @property
    def label(self) -> str:
        """What people call it, e.g. `trn1-3`."""
        return f"{self.group}-{self.index}"

    def reported(self) -> dict[str, Any]:
        """Return it for `--json`, without what nobody knows."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "running"}
        return {"label": self.label} | {name: value for name, value in fields.items() if value not in (None, "")}


def in_launch_order(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return `nodes` by group and launch, numbered within each group from 1; what is not launched yet comes last."""
    counts: Counter[str] = Counter()
    numbered: list[Node] = []
    for node in sorted(nodes, key=_order):
        counts[node.group] += 1
        numbered.append(replace(node, index=counts[node.group]))
    return tuple(numbered)


def _order(node: Node) -> tuple[str, bool, float, str]:
    launched = node.launched.timestamp() if node.launched else 0.0
    return node.group, node.launched is None, launched, node.instance_id or node.logical_id or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCount:
    """How many nodes a group has, of how many that are wanted."""

    group: str
    current: int
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The nodes, by group and in the order of their launch, and what is said of all of them."""

    nodes: Sequence[Node]
    name: str
    """What AWS calls the cluster or service, in full."""
    status: str = ""
    """Of the cluster; empty where there is no such thing."""
    message: str = ""
    """What AWS says of the status."""
    note: str = ""
    """What else is to be known of the whole."""
    has_slurm: bool = True
    """Whether Slurm runs on it: not on a service, nor on a HyperPod cluster of EKS."""
    counts: Sequence[GroupCount] = ()
    """Of each group; empty where AWS does not tell what is wanted."""


def roles_of_place(fleet: "Fleet | None", place: "Place") -> Mapping[str, NodeRole]:
    """Return the roles of the groups of a HyperPod cluster of `fleet`; empty for anything else."""
    cluster = fleet.hyperpod_clusters.get(place.key) if fleet and place.key else None
    if cluster is None:
        return {}
    return {group.name: NodeRole(group.node_type.lower()) for group in cluster.groups}


Reported = Mapping[str, Any]


def part(reported: Reported, key: str) -> Reported:
    """Return the structure under `key`; empty where AWS leaves it out or says null."""
    return cast("Reported", reported.get(key) or {})


class Pace:
    """A bucket of tokens, as AWS itself counts calls: each call takes one, and they come back at a rate."""

    def __init__(
        self,
        rate: ApiRate,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Begin with a full bucket. `clock` tells seconds, `sleep` waits for some."""
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._tokens = float(rate.burst)
        self._at = clock()
        self.waited = 0.0
        """Seconds that were waited for the service's sake."""

    def take(self) -> None:
        """Wait until a call may be made."""
        self._refill()
        if self._tokens < 1:
            pause = (1 - self._tokens) / self._rate.per_second
            self._sleep(pause)
            self.waited += pause
            self._refill()
        self._tokens -= 1

    def _refill(self) -> None:
        now = self._clock()
        self._tokens = min(float(self._rate.burst), self._tokens + (now - self._at) * self._rate.per_second)
        self._at = now


_FIRST = (NodeRole.LOGIN, NodeRole.CONTROLLER, NodeRole.HEAD, NodeRole.TASK, NodeRole.HOST)
"""Where a person works when nothing is asked for."""
_ANY = (NodeRole.LOGIN, NodeRole.CONTROLLER, NodeRole.HEAD)
"""Roles whose nodes are alike: the first that runs will do."""
_CANDIDATES = 8
_LEAST_OF_ID = 5
"""Signs of an instance id that are taken for its beginning, e.g. `i-0ab`."""


def wanted_node(listing: Listing, requested: str | None) -> Node:
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
    if requested is None:
        return _first(listing)
    word = requested.strip().lower()
    found = _matches(listing.nodes, word)
    if len(found) > 1 and word in _ANY:
        found = [next((node for node in found if node.running), found[0])]
    if len(found) > 1:
        _refuse_many(listing, requested, found)
    if not found:
        _refuse_unknown(listing, requested, word)
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


def _refuse_many(listing: Listing, requested: str, found: Sequence[Node]) -> None:
    refuse(
        NodesCode.NODE_AMBIGUOUS,
        f"{len(found)} nodes answer to it",
        f"name one of {_labels(found)}",
        subject=listing.name,
        value=requested,
    )


def _refuse_unknown(listing: Listing, requested: str, word: str) -> None:
    group = next((node.group for node in listing.nodes if word.startswith(f"{node.group.lower()}-")), None)
    alike = [node for node in listing.nodes if node.group == group] or listing.nodes
    names = [name for node in listing.nodes for name in (node.label, node.name, node.group) if name]
    offer, nodes = nearest(requested, names), counted(len(alike), "node")
    refuse(
        NodesCode.NODE_UNKNOWN,
        f"group {group} has {nodes}" if group else _why(word),
        f"write {offer!r}" if offer and group is None else f"name one of {_labels(alike)}",
        subject=listing.name,
        value=requested,
    )


def _why(word: str) -> str:
    if word.startswith("i-"):
        return "no node has this instance id; a node that was replaced has a new one"
    return "there is no such node, nor role or group"


def _labels(nodes: Sequence[Node]) -> str:
    reported = [f"{node.label} ({node.instance_id or node.status})" for node in nodes[:_CANDIDATES]]
    more = len(nodes) - len(reported)
    return ", ".join(reported) + (f" and {more} more; `llm-fleet nodes` shows all" if more > 0 else "")
