"""What an update would do, change by change."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.rules.parallelcluster.update.change import Change
from llm_fleet.rules.parallelcluster.update.circumstances import Circumstances
from llm_fleet.rules.parallelcluster.update.compare import compare
from llm_fleet.rules.parallelcluster.update.new_name import under_new_name
from llm_fleet.rules.parallelcluster.update.policies import POLICIES
from llm_fleet.rules.parallelcluster.update.storage_policies import lustre_made_anew
from llm_fleet.rules.parallelcluster.update.values import Section, may_be_equal, normal
from llm_fleet.rules.parallelcluster.update.verdict import Judgement, Verdict

VERSION = "Version"
"""Path and policy of a changed version of ParallelCluster, which is no key of its configuration."""

LOST_DATA = "LostData"
"""Policy of what ParallelCluster would let pass, and lose data by."""
_PLACES_OF_SCRIPTS = ("HeadNode", "CustomActions")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """One change, judged."""

    path: tuple[str, ...]
    """Keys of ParallelCluster, items of lists by their names, e.g. `("SharedStorage[data]", "MountDir")`."""
    old: Any
    """The value deployed last, scalars as text; `None` where there was none."""
    new: Any
    verdict: Verdict
    reason: str
    remedy: str
    """What to do about it; empty where nothing need be done."""
    policy: str
    """ParallelCluster's name of the policy that decides."""

    @property
    def where(self) -> str:
        """The path as text."""
        return "/".join(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePlan:
    """What an update would do."""

    changes: tuple[PlannedChange, ...]
    """The gravest first."""

    @property
    def passes(self) -> bool:
        """Whether ParallelCluster would let the update pass, as far as can be known before it."""
        return all(change.verdict.passes for change in self.changes)

    @property
    def verdict(self) -> Verdict:
        """The gravest; `FREE` where nothing changes."""
        return max((change.verdict for change in self.changes), key=lambda one: one.rank, default=Verdict.FREE)

    @property
    def numbers(self) -> dict[Verdict, int]:
        """How many changes each verdict has, the gravest first."""
        return dict(Counter(change.verdict for change in self.changes))


def plan_update(
    old: Section,
    new: Section,
    *,
    version_old: str | None = None,
    version_new: str | None = None,
    fleet_is_stopped: bool = False,
    region: str = "",
) -> UpdatePlan:
    """Return what an update from configuration `old` to `new` would do, each key by ParallelCluster's own policy.

    Both are ParallelCluster's own configurations; intrinsic functions of CloudFormation may stand for values. A
    version that is `None` is taken for the same. The fleet is taken to run unless told otherwise, login nodes to run
    where `old` counts any. `region` defaults to that of the configuration.
    """
    changes = compare(old, new)
    around = Circumstances(
        old=normal(old),
        new=normal(new),
        changes=changes,
        fleet_runs=not fleet_is_stopped,
        region=region or str(new.get("Region", "")),
    )
    planned = [
        *_version(version_old, version_new),
        *_lost_data(around),
        *(_planned(change, around) for change in changes),
    ]
    return UpdatePlan(changes=tuple(sorted(planned, key=lambda one: -one.verdict.rank)))


def reasons_for_new_cluster(plan: UpdatePlan) -> tuple[PlannedChange, ...]:
    """Return the changes that make another cluster of it.

    The rest is of no matter to a new one, and much of it follows from the new name: where scripts lie, the ids of what
    is made for this very cluster.
    """
    return tuple(
        change
        for change in plan.changes
        if change.verdict is Verdict.NEEDS_NEW_CLUSTER and change.path[:2] != _PLACES_OF_SCRIPTS
    )


def _version(old: str | None, new: str | None) -> Sequence[PlannedChange]:
    if old is None or new is None or old == new:
        return ()
    judged = Judgement(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason="ParallelCluster updates only clusters of exactly its own version",
        remedy=f"keep {old}, or make a new cluster beside the old one (`immutable_changes: new-cluster`)",
    )
    return (_told((VERSION,), old, new, VERSION, judged),)


def _lost_data(around: Circumstances) -> Sequence[PlannedChange]:
    judged = Judgement(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason="with queues in other subnets ParallelCluster makes the file system anew, without its data",
        remedy="keep all queues in the subnets that they are in; a file system that is handed over by its id stays",
    )
    return [
        _told((f"SharedStorage[{name}]",), "with its data", "without", LOST_DATA, judged)
        for name in lustre_made_anew(around)
    ]


def _planned(change: Change, around: Circumstances) -> PlannedChange:
    judged = POLICIES[change.policy].judge(change, around)
    if judged.verdict is Verdict.NEEDS_NEW_CLUSTER:
        judged = under_new_name(change, around, judged)
    if judged.verdict is not Verdict.FREE and may_be_equal(change.old, change.new):
        judged = Judgement(
            verdict=Verdict.UNKNOWN,
            reason=f"a literal against what CloudFormation works out; if they differ, it {judged.verdict.value}",
            remedy=judged.remedy and f"compare the two; if they differ: {judged.remedy}",
        )
    return _told(change.path, change.old, change.new, change.policy, judged)


def _told(path: tuple[str, ...], old: Any, new: Any, policy: str, judged: Judgement) -> PlannedChange:
    return PlannedChange(
        path=path,
        old=old,
        new=new,
        verdict=judged.verdict,
        reason=judged.reason,
        remedy=judged.remedy,
        policy=policy,
    )
