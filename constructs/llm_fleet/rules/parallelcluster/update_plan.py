"""What an update of a cluster does, and how it is written for people."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.rules.parallelcluster.update_changes import (
    Change,
    Circumstances,
    Decision,
    Key,
    Section,
    Verdict,
    compare,
    items_at,
    may_be_equal,
    normal,
    section_at,
    top_level_keys,
    value_text,
)
from llm_fleet.rules.parallelcluster.update_fleet_policies import POLICIES, lustre_made_again


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The innermost item of a list that a change is in."""

    items: Key
    section: tuple[str, ...]
    """Where the list is."""
    name: str
    old: Section | None
    new: Section | None


def under_new_name(change: Change, around: Circumstances, checked: Decision) -> Decision:
    """Return what another name for the item would do instead of `checked`; `checked` where that is no way out."""
    if change.policy == "MANAGED_FSX":
        return checked  # A queue of another name would get past the check, and take the file system's subnet from it.
    place = _innermost(change.section, around)
    if place is None or place.old is None or place.new is None:
        return checked
    policy = POLICIES[place.items.policy]
    added = policy.verify(_whole(place, old=None, new=place.new), around).verdict
    removed = policy.verify(_whole(place, old=place.old, new=None), around)
    if Verdict.NEEDS_NEW_CLUSTER in (added, removed.verdict):
        return checked
    remedy = f"give {place.name} in {place.items.name} another name: the one of that name is made, this one removed"
    if removed.verdict is not Verdict.FREE:
        remedy += f" (the removal {removed.verdict.value}: {removed.remedy or removed.reason})"
    if place.items.name == "SharedStorage":
        remedy += "; what ParallelCluster made goes by its DeletionPolicy, with its data"
    return Decision(verdict=Verdict.NEEDS_NEW_NAME, reason=checked.reason, remedy=remedy)


def _whole(place: _Place, *, old: Any, new: Any) -> Change:
    key = place.items
    return Change(section=place.section, key=key.name, old=old, new=new, policy=key.policy, is_item=True)


def _innermost(section: tuple[str, ...], around: Circumstances) -> _Place | None:
    keys: Mapping[str, Key] = top_level_keys()
    old: Section | None = around.old
    new: Section | None = around.new
    found: _Place | None = None
    for depth, part in enumerate(section):
        name, bracket, rest = part.partition("[")
        key = keys[name]
        if bracket:
            item = rest[:-1]
            old, new = _item(old, key, item), _item(new, key, item)
            found = _Place(items=key, section=section[:depth], name=item, old=old, new=new)
        else:
            old, new = section_at(old or {}, name), section_at(new or {}, name)
        keys = key.children
    return found


def _item(section: Section | None, key: Key, name: str) -> Section | None:
    named = (item for item in items_at(section, key.name) if str(item.get(key.item_key or "Name")) == name)
    return next(named, None)


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
    checked = Decision(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason="ParallelCluster updates only clusters of exactly its own version",
        remedy=f"keep {old}, or make a new cluster beside the old one (`immutable_changes: new-cluster`)",
    )
    return (_reported((VERSION,), old, new, VERSION, checked),)


def _lost_data(around: Circumstances) -> Sequence[PlannedChange]:
    checked = Decision(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason="with queues in other subnets ParallelCluster makes the file system anew, without its data",
        remedy="keep all queues in the subnets that they are in; a file system that is handed over by its id stays",
    )
    return [
        _reported((f"SharedStorage[{name}]",), "with its data", "without", LOST_DATA, checked)
        for name in lustre_made_again(around)
    ]


def _planned(change: Change, around: Circumstances) -> PlannedChange:
    checked = POLICIES[change.policy].verify(change, around)
    if checked.verdict is Verdict.NEEDS_NEW_CLUSTER:
        checked = under_new_name(change, around, checked)
    if checked.verdict is not Verdict.FREE and may_be_equal(change.old, change.new):
        checked = Decision(
            verdict=Verdict.UNKNOWN,
            reason=f"a literal against what CloudFormation works out; if they differ, it {checked.verdict.value}",
            remedy=checked.remedy and f"compare the two; if they differ: {checked.remedy}",
        )
    return _reported(change.path, change.old, change.new, change.policy, checked)


def _reported(path: tuple[str, ...], old: Any, new: Any, policy: str, checked: Decision) -> PlannedChange:
    return PlannedChange(
        path=path,
        old=old,
        new=new,
        verdict=checked.verdict,
        reason=checked.reason,
        remedy=checked.remedy,
        policy=policy,
    )


def plan_text(plan: UpdatePlan) -> str:
    """Return the plan as a table, the gravest changes first, with reason and remedy below each that is not free."""
    if not plan.changes:
        return "nothing changes\n"
    width = max(len(change.verdict.value) for change in plan.changes)
    lines = [line for change in plan.changes for line in _lines(change, width)]
    numbers = ", ".join(f"{verdict.value}: {number}" for verdict, number in plan.numbers.items())
    end = "the update passes" if plan.passes else "ParallelCluster would refuse the update"
    if plan.passes and Verdict.UNKNOWN in plan.numbers:
        end += ", unless what is known at deployment only differs"
    count = len(plan.changes)
    return "\n".join([*lines, "", f"{count} change{'' if count == 1 else 's'} ({numbers}); {end}"]) + "\n"


def new_cluster_text(plan: UpdatePlan, old_name: str | None, new_name: str | None) -> str:
    """Return that a new cluster is made, and what for."""
    lines = [line for change in reasons_for_new_cluster(plan) for line in _lines(change, len(change.verdict.value))]
    end = f"{new_name} would be a new cluster beside {old_name}, which goes once the new one stands"
    return "\n".join([*lines, *([""] if lines else []), end]) + "\n"


def plan_json(plan: UpdatePlan, *, new_cluster: bool = False) -> str:
    """Return the plan as JSON: `new_cluster`, `passes`, the gravest `verdict`, and every change.

    Verdicts are by their names.
    """
    document = {
        "new_cluster": new_cluster,
        "passes": plan.passes,
        "verdict": plan.verdict.name,
        "changes": [_entry(change) for change in plan.changes],
    }
    return json.dumps(document, indent=2) + "\n"


def _entry(change: PlannedChange) -> dict[str, Any]:
    return {
        "path": change.where,
        "old": change.old,
        "new": change.new,
        "verdict": change.verdict.name,
        "reason": change.reason,
        "remedy": change.remedy,
        "policy": change.policy,
    }


def _lines(change: PlannedChange, width: int) -> list[str]:
    lines = [
        f"{change.verdict.value:{width}}  {change.where}",
        f"{'':{width}}    {value_text(change.old)} -> {value_text(change.new)}",
    ]
    if change.verdict is not Verdict.FREE:
        lines += [
            f"{'':{width}}    {text}" for text in (change.reason, change.remedy and f"remedy: {change.remedy}") if text
        ]
    return lines
