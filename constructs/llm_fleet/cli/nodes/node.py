"""A node, as every listing has it, and the words for its roles and state."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from llm_fleet.catalog.aws_api import ApiRate

if TYPE_CHECKING:
    from llm_fleet.cli.place import Place
    from llm_fleet.fleet_file.fleet import Fleet


_PART = re.compile(r"(?:[^,\[]|\[[^\]]*\])+")
_RANGE = re.compile(r"([^\[]*)\[([^\]]*)\](.*)")


def expanded(hostlist: str) -> list[str]:
    """Return the names of the nodes, as `scontrol show hostnames` would."""
    return [name for part in _PART.findall(hostlist) for name in _names(part)]


def _names(part: str) -> Iterator[str]:
    found = _RANGE.fullmatch(part)
    if found is None:
        yield part
        return
    before, ranges, after = found.groups()
    for number in _numbers(ranges):
        for name in _names(after):
            yield f"{before}{number}{name}"


def _numbers(ranges: str) -> Iterator[str]:
    for one in ranges.split(","):
        first, _, last = one.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            yield one
            continue
        # Slurm fills up with zeros: `[08-10]` is 08, 09, 10.
        for number in range(int(first), int(last or first) + 1):
            yield str(number).zfill(len(first))


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

    def told(self) -> dict[str, Any]:
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


Told = Mapping[str, Any]


def part(told: Told, key: str) -> Told:
    """Return the structure under `key`; empty where AWS leaves it out or says null."""
    return cast("Told", told.get(key) or {})


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
