"""An update policy of ParallelCluster."""

from collections.abc import Callable
from dataclasses import dataclass

from llm_fleet.rules.parallelcluster.terms import QueueUpdateStrategy
from llm_fleet.rules.parallelcluster.update.change import Change
from llm_fleet.rules.parallelcluster.update.circumstances import Circumstances
from llm_fleet.rules.parallelcluster.update.verdict import Judgement, Verdict

FREE = Judgement(verdict=Verdict.FREE, reason="changed in place")
STOP_FLEET = (
    "stop the fleet (`pcluster update-compute-fleet --cluster-name NAME --status STOP_REQUESTED`), wait until it is "
    "STOPPED, deploy with `fleet_is_stopped`, start it again"
)
STOP_LOGIN_NODES = "deploy with a count of 0 for the login pools first, wait until their nodes are gone"


def _always_free(_change: Change, _around: Circumstances) -> Judgement:
    return FREE


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When an update may make a change, and what it asks for where it may not."""

    name: str
    """ParallelCluster's name of it."""
    allows: Callable[[Change, Circumstances], bool]
    """ParallelCluster's condition: whether it lets the change pass."""
    effect: Callable[[Change, Circumstances], Judgement] = _always_free
    """What a change does that may pass."""
    refusal: Callable[[Change, Circumstances], Judgement]
    """What is to be done for one that may not."""

    def judge(self, change: Change, around: Circumstances) -> Judgement:
        """Return the verdict on `change`."""
        told = self.effect if self.allows(change, around) else self.refusal
        return told(change, around)


def replaced(where: str, around: Circumstances) -> Judgement:
    """Return what `QueueUpdateStrategy` does to the nodes of `where`; nothing where the fleet is stopped.

    The head node replaces nodes of queues with a change of the policy of that name (aws-parallelcluster-cookbook,
    update_head_node.rb, of an earlier 3.x). Whether 3.16 does so for placement groups, subnets and storage of its own
    as well, or leaves it to the next start of each node: assumption: parallelcluster-replaces-on-queue-update
    """
    if not around.fleet_runs:
        return Judgement(verdict=Verdict.FREE, reason="the fleet is stopped")
    if around.strategy == QueueUpdateStrategy.TERMINATE:
        reason = f"TERMINATE ends the nodes of {where} at once, and their jobs with them"
        return Judgement(verdict=Verdict.TERMINATES, reason=reason)
    return Judgement(verdict=Verdict.DRAINS, reason=f"DRAIN replaces the nodes of {where} once their jobs have ended")


def stop_fleet(reason: str, alternative: str = "") -> Judgement:
    """Return that the fleet must be stopped, or the `alternative` taken."""
    remedy = f"{alternative}, or {STOP_FLEET}" if alternative else STOP_FLEET
    return Judgement(verdict=Verdict.NEEDS_STOPPED_FLEET, reason=reason, remedy=remedy)


def stop_login_nodes(reason: str) -> Judgement:
    """Return that the login nodes must be stopped."""
    return Judgement(verdict=Verdict.NEEDS_STOPPED_LOGIN_NODES, reason=reason, remedy=STOP_LOGIN_NODES)


def never(change: Change, _around: Circumstances) -> Judgement:
    """Return that no update makes the change."""
    if change.old is None:
        back = f"remove {change.key}"
    else:
        back = f"put {change.key} back" if change.is_item or isinstance(change.old, dict) else f"keep {change.old!r}"
    remedy = f"{back}, or make a new cluster beside the old one (`immutable_changes: new-cluster`)"
    return Judgement(verdict=Verdict.NEEDS_NEW_CLUSTER, reason="ParallelCluster never changes it", remedy=remedy)
