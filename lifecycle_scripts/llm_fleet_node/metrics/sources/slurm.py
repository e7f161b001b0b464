"""The queue and the nodes, from slurmctld. Only the controller queries it, so once a minute."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any, Optional

from llm_fleet_node.metrics.machine import Machine, Unreadable
from llm_fleet_node.metrics.reading import Reading, together, trouble

SOURCE = "slurm"
_TIMES = {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}
_OWN_WILL = frozenset(
    {"Dependency", "DependencyNeverSatisfied", "BeginTime", "JobHeldUser", "JobHeldAdmin", "JobArrayTaskLimit"}
)
"""Reasons for which a job would not run on an empty cluster either. squeue(1), JOB REASON CODES."""
_LIMITS = ("QOS", "Assoc", "MaxCpuPer", "MaxMemPer", "MaxNodePer", "MaxGRESPer", "PartitionNodeLimit")
_MARKS = "*~#!%$@^-+"
"""Suffixes of a state. sinfo(1), NODE STATE CODES."""
_OFF, _SILENT = "~%", "*"
_DOWN = frozenset({"down", "fail", "failing", "error", "unknown"})
_AT_WORK = frozenset({"allocated", "mixed", "completing", "alloc"})
_MOST = 50
"""Maximum number of nodes with reasons in a line, because a log event has a maximum size."""


def read_slurm(machine: Machine, now: Optional[datetime] = None) -> Reading:
    """Return the metrics of queue and nodes, from squeue and sinfo."""
    try:
        queue = machine.run("squeue", "--noheader", "--all", "--format=%T|%r|%V", seconds=20, environment=_TIMES)
        nodes = machine.run("sinfo", "--noheader", "--Node", "--all", "--format=%N|%T|%E", seconds=20)
    except Unreadable as error:
        return trouble(SOURCE, str(error))
    of_queue = queue_reading(queue.splitlines(), now or datetime.now(timezone.utc).replace(tzinfo=None))
    return together({"queue": of_queue, "nodes": nodes_reading(nodes.splitlines())})


def queue_reading(lines: Iterable[str], now: datetime) -> Reading:
    """Return the metrics of lines `state|reason|submitted`; both these times and `now` are UTC."""
    counts: dict[str, float] = {"running": 0.0, "pending": 0.0, "limited": 0.0, "held": 0.0}
    longest = 0.0
    for line in lines:
        state, _, rest = line.strip().partition("|")
        reason, _, submitted = rest.rpartition("|")
        if state == "PENDING":
            kind = _kind(reason)
            counts[kind] += 1
            if kind == "pending":
                longest = max(longest, _seconds_since(submitted, now))
        elif state in ("RUNNING", "COMPLETING"):
            counts["running"] += 1
    values = {f"slurm_jobs_{kind}": count for kind, count in counts.items()}
    return Reading({**values, "slurm_longest_wait": longest})


def nodes_reading(lines: Iterable[str]) -> Reading:
    """Return the metrics of lines `node|state|reason`. A node in two partitions has two lines."""
    kinds: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for line in lines:
        name, _, rest = line.strip().partition("|")
        state, _, reason = rest.partition("|")
        kind = _node_kind(state)
        if name and kind is not None:
            kinds[name] = kind
            if kind in ("drained", "down"):
                reasons[name] = f"{state}: {reason[:120]}"
    found = list(kinds.values())
    values = {f"slurm_nodes_{kind}": float(found.count(kind)) for kind in ("allocated", "idle", "drained", "down")}
    reported: dict[str, Any] = dict(sorted(reasons.items())[:_MOST])
    return Reading(values, {"SlurmReasons": reported} if reported else {})


def _kind(reason: str) -> str:
    if reason in _OWN_WILL:
        return "held"
    return "limited" if reason.startswith(_LIMITS) else "pending"


def _seconds_since(text: str, now: datetime) -> float:
    try:
        return max(0.0, (now - datetime.strptime(text, "%Y-%m-%dT%H:%M:%S")).total_seconds())
    except ValueError:
        return 0.0


def _node_kind(state: str) -> Optional[str]:
    """Return the category of a node; `None` for one that is powered off or reserved."""
    plain = state.rstrip(_MARKS).lower()
    marks = state[len(plain) :]
    if plain.startswith("drain"):
        return "drained"
    if plain in _DOWN or _SILENT in marks:
        return "down"
    if plain in _AT_WORK:
        return "allocated"
    # A node that ParallelCluster has powered off is idle for Slurm, and costs nothing.
    return "idle" if plain == "idle" and not any(mark in marks for mark in _OFF) else None
