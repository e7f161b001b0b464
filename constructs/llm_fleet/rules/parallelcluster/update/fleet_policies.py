"""Policies of changes that concern the compute fleet."""

from typing import Any

from llm_fleet.rules.parallelcluster.terms import QueueUpdateStrategy
from llm_fleet.rules.parallelcluster.update.change import Change
from llm_fleet.rules.parallelcluster.update.circumstances import Circumstances
from llm_fleet.rules.parallelcluster.update.policy import FREE, Policy, replaced, stop_fleet
from llm_fleet.rules.parallelcluster.update.values import Section
from llm_fleet.rules.parallelcluster.update.verdict import Judgement

_DEFAULT_COUNTS = {"MinCount": 0, "MaxCount": 10}
"""What ParallelCluster takes where a count is left out (pcluster/constants.py)."""


def by_strategy(change: Change, around: Circumstances) -> bool:
    """Tell whether the fleet is stopped, or, for what is in a queue, `QueueUpdateStrategy` replaces its nodes."""
    return not around.fleet_runs or (change.in_queue and around.strategy_replaces)


def replaces_queue(change: Change, around: Circumstances) -> Judgement:
    """Return what becomes of the nodes of the queue that the change is in."""
    return replaced(f"queue {change.item_name('SlurmQueues')}", around)


def needs_strategy(change: Change, _around: Circumstances) -> Judgement:
    """Return that a strategy is to be set or the fleet stopped; outside of queues only the latter helps."""
    return stop_fleet(
        "the nodes that run would not have it", "set QueueUpdateStrategy to DRAIN" if change.in_queue else ""
    )


def _fleet_stopped(_change: Change, around: Circumstances) -> bool:
    return not around.fleet_runs


def _whatever_the_strategy(_change: Change, _around: Circumstances) -> Judgement:
    return stop_fleet("ParallelCluster changes it only with the fleet stopped, whatever QueueUpdateStrategy says")


def _added_or_stopped(change: Change, around: Circumstances) -> bool:
    return not around.fleet_runs or (change.adds_item and _of_queues(change))


def _resized(change: Change, around: Circumstances) -> bool:
    return not around.fleet_runs or _grows(change, around) or (_of_queues(change) and _terminates(around))


def _resize_effect(change: Change, around: Circumstances) -> Judgement:
    if _grows(change, around):
        return FREE
    gone: Section = change.old if change.is_item else {}
    name = change.item_name("SlurmQueues") or str(gone.get("Name"))
    return replaced(f"queue {name}", around)


def _resize_refused(change: Change, _around: Circumstances) -> Judgement:
    what = "removed nodes" if change.key != "MinCount" else "static nodes in place of dynamic ones"
    alternative = "set QueueUpdateStrategy to TERMINATE, which ends nodes that go and their jobs"
    if change.key == "MinCount":
        alternative = f"raise MaxCount by as much, or {alternative}"
    return stop_fleet(f"DRAIN is not enough for {what}", alternative)


def _terminates(around: Circumstances) -> bool:
    return around.strategy == QueueUpdateStrategy.TERMINATE


def _of_queues(change: Change) -> bool:
    return change.in_queue or change.key == "SlurmQueues"


def _grows(change: Change, around: Circumstances) -> bool:
    if change.adds_item and _of_queues(change):
        return True
    if change.key == "MaxCount":
        return _growth(change) >= 0
    if change.key != "MinCount":
        return False
    beside = (other for other in around.changes if other.section == change.section and other.key == "MaxCount")
    return any(_growth(other) >= _growth(change) for other in beside)


def _growth(change: Change) -> float:
    """By how much a count grows; not a number, which compares with none, where one is known at deployment only."""
    old, new = (_count(value, change.key) for value in (change.old, change.new))
    return new - old


def _count(value: Any, key: str) -> float:
    if value is None:
        return _DEFAULT_COUNTS[key]
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else float("nan")


QUEUE_UPDATE_STRATEGY = Policy(
    name="QUEUE_UPDATE_STRATEGY", allows=by_strategy, effect=replaces_queue, refusal=needs_strategy
)
COMPUTE_FLEET_STOP = Policy(name="COMPUTE_FLEET_STOP", allows=_fleet_stopped, refusal=_whatever_the_strategy)
COMPUTE_FLEET_STOP_ON_REMOVE = Policy(
    name="COMPUTE_FLEET_STOP_ON_REMOVE", allows=_added_or_stopped, refusal=_whatever_the_strategy
)
RESIZE_UPDATE_STRATEGY_ON_REMOVE = Policy(
    name="RESIZE_UPDATE_STRATEGY_ON_REMOVE", allows=_resized, effect=_resize_effect, refusal=_resize_refused
)
