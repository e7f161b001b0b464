"""A node of any kind of cluster or service, its roles, and the lookup of a node by name."""

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
    """Role of a node."""

    CONTROLLER = "controller"
    LOGIN = "login"
    HEAD = "head"
    COMPUTE = "compute"
    HOST = "host"
    """An instance under an inference service."""
    TASK = "task"
    """A task of an inference service: not an instance, but a place to connect to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of a cluster, or a host or task of a service. Values that AWS does not return are `None`."""

    group: str
    """Instance group, queue or login pool; `head` for a head node; `host` or `task` for a service."""
    index: int
    """Number in the group by launch time, from 1."""
    status: str
    """AWS's value: HyperPod `Running`, `Failure` …; EC2 `running` …; ECS `ACTIVE`, `RUNNING` …"""
    running: bool
    """Whether it runs, by its status in AWS."""
    role: NodeRole | None = None
    instance_id: str | None = None
    """`None` until HyperPod has an instance for it."""
    logical_id: str | None = None
    """HyperPod's `NodeLogicalId`, which exists from the request for the node on; the id of a task."""
    name: str | None = None
    """Slurm name, e.g. `ip-10-1-2-3`."""
    message: str = ""
    """AWS's message about the status."""
    instance_type: str | None = None
    launched: datetime | None = None
    zone: str | None = None
    """Name of the AZ. ListClusterNodes does not return it."""
    address: str | None = None
    """Private IPv4 address."""
    target: str | None = None
    """Target of Session Manager; `None` if it cannot connect."""
    task_arn: str | None = None
    """ARN of a task with ECS Exec enabled."""

    @property
    def label(self) -> str:
        """Group and number, e.g. `trn1-3`."""
        return f"{self.group}-{self.index}"

    def as_json(self) -> dict[str, Any]:
        """Return the node for `--json`, without unknown values."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "running"}
        return {"label": self.label} | {name: value for name, value in fields.items() if value not in (None, "")}


def in_launch_order(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return `nodes` by group and launch time, numbered within each group from 1; nodes not launched yet are last."""
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
    """Current and target number of nodes of a group."""

    group: str
    current: int
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The nodes by group and launch time, and the state of the cluster or service."""

    nodes: Sequence[Node]
    name: str
    """Full name of the cluster or service in AWS."""
    status: str = ""
    """Status of the cluster; empty if there is none."""
    message: str = ""
    """AWS's message about the status."""
    note: str = ""
    """Other remarks about the cluster or service."""
    has_slurm: bool = True
    """Whether it runs Slurm, unlike a service or a HyperPod cluster with EKS."""
    counts: Sequence[GroupCount] = ()
    """Per group; empty if AWS does not return target counts."""


def roles_of_place(fleet: "Fleet | None", place: "Place") -> Mapping[str, NodeRole]:
    """Return the roles of the groups of a HyperPod cluster of `fleet`; empty for anything else."""
    cluster = fleet.hyperpod_clusters.get(place.key) if fleet and place.key else None
    if cluster is None:
        return {}
    return {group.name: NodeRole(group.node_type.lower()) for group in cluster.groups}


Reported = Mapping[str, Any]


def part(reported: Reported, key: str) -> Reported:
    """Return the structure under `key`; empty if it is missing or null."""
    return cast("Reported", reported.get(key) or {})


class Pace:
    """A token bucket, as AWS counts calls: each call takes a token, and tokens are added at a fixed rate."""

    def __init__(
        self,
        rate: ApiRate,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Begin with a full bucket. `clock` returns seconds, `sleep` waits for seconds."""
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._tokens = float(rate.burst)
        self._at = clock()
        self.waited = 0.0
        """Seconds that were waited."""

    def take(self) -> None:
        """Wait until a call is allowed."""
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
"""Default roles, in this order."""
_ANY = (NodeRole.LOGIN, NodeRole.CONTROLLER, NodeRole.HEAD)
"""Roles with equal nodes: the first running node is used."""
_CANDIDATES = 8
_LEAST_OF_ID = 5
"""Shortest prefix of an instance id, e.g. `i-0ab`."""


def wanted_node(listing: Listing, requested: str | None) -> Node:
    """Return the node named `requested`, whether it runs or not; by default a login node, else the controller.

    `requested`: a role, e.g. `controller`; a label of the table, e.g. `trn1-3`; a group with one node; an instance id
    or its beginning; a Slurm name; an address. Raises `FleetError` (LF1100 to LF1103).
    """
    if not listing.nodes:
        refuse(
            NodesCode.NO_NODES,
            "there are no nodes yet",
            "wait until there is one (`llm-fleet nodes --watch`); `llm-fleet events` shows the progress",
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
        f"no login node or controller is running: {states or 'the roles of the nodes are unknown'}",
        f"wait until one is running (`llm-fleet nodes --watch`), or name another node: {_labels(listing.nodes)}",
        subject=listing.name,
    )


def _matches(nodes: Sequence[Node], word: str) -> list[Node]:
    """Return the nodes for the first interpretation of `word` that matches any."""
    ways: tuple[Callable[[Node], bool], ...] = (
        lambda node: word in (node.label.lower(), node.instance_id, node.logical_id, node.address),
        lambda node: node.name is not None and word.partition(".")[0] == node.name.lower(),
        lambda node: word == node.group.lower(),
        lambda node: word == node.role,
        lambda node: len(word) >= _LEAST_OF_ID and bool(node.instance_id) and str(node.instance_id).startswith(word),
        # No prefixes of logical ids: they look like labels, and could select another node.
    )
    for way in ways:
        found = [node for node in nodes if way(node)]
        if found:
            return found
    return []


def _refuse_many(listing: Listing, requested: str, found: Sequence[Node]) -> None:
    refuse(
        NodesCode.NODE_AMBIGUOUS,
        f"{len(found)} nodes match",
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
        f"write `{offer}`" if offer and group is None else f"name one of {_labels(alike)}",
        subject=listing.name,
        value=requested,
    )


def _why(word: str) -> str:
    if word.startswith("i-"):
        return "no node has this instance id; a replaced node has a new id"
    return "unknown node, role or group"


def _labels(nodes: Sequence[Node]) -> str:
    reported = [f"{node.label} ({node.instance_id or node.status})" for node in nodes[:_CANDIDATES]]
    more = len(nodes) - len(reported)
    return ", ".join(reported) + (f" and {more} more; `llm-fleet nodes` shows all" if more > 0 else "")
