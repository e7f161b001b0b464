"""The effects of an update of a cluster, and their text."""

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
    """The innermost item of a list around a change."""

    items: Key
    section: tuple[str, ...]
    """The path of the list."""
    name: str
    old: Section | None
    new: Section | None


def under_new_name(change: Change, around: Circumstances, checked: Decision) -> Decision:
    """Return the verdict with another name for the item; `checked` when that does not help."""
    if change.policy == "MANAGED_FSX":
        return checked  # A queue with another name would pass the check, and change the file system's subnet.
    place = _innermost(change.section, around)
    if place is None or place.old is None or place.new is None:
        return checked
    policy = POLICIES[place.items.policy]
    added = policy.verify(_whole(place, old=None, new=place.new), around).verdict
    removed = policy.verify(_whole(place, old=place.old, new=None), around)
    if Verdict.NEEDS_NEW_CLUSTER in (added, removed.verdict):
        return checked
    remedy = f"give {place.name} in {place.items.name} another name: it is created, and this one removed"
    if removed.verdict is not Verdict.FREE:
        remedy += f" (the removal {removed.verdict.value}: {removed.remedy or removed.reason})"
    if place.items.name == "SharedStorage":
        remedy += "; what ParallelCluster made is deleted by its DeletionPolicy, with its data"
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
"""Path and policy of a changed version of ParallelCluster, which is not a key of its configuration."""

LOST_DATA = "LostData"
"""Policy of a change that ParallelCluster would accept with loss of data."""
_PLACES_OF_SCRIPTS = ("HeadNode", "CustomActions")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """One change with its verdict."""

    path: tuple[str, ...]
    """Keys of ParallelCluster, items of lists by their names, e.g. `("SharedStorage[data]", "MountDir")`."""
    old: Any
    """The deployed value, scalars as text; `None` when it did not exist."""
    new: Any
    verdict: Verdict
    reason: str
    remedy: str
    """The fix; empty when nothing is to be done."""
    policy: str
    """ParallelCluster's name of the policy that applies."""

    @property
    def where(self) -> str:
        """The path as text."""
        return "/".join(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePlan:
    """The effects of an update."""

    changes: tuple[PlannedChange, ...]
    """The most severe first."""

    @property
    def passes(self) -> bool:
        """Whether ParallelCluster would accept the update, as far as can be known in advance."""
        return all(change.verdict.passes for change in self.changes)

    @property
    def verdict(self) -> Verdict:
        """The most severe verdict; `FREE` when nothing changes."""
        return max((change.verdict for change in self.changes), key=lambda one: one.rank, default=Verdict.FREE)

    @property
    def numbers(self) -> dict[Verdict, int]:
        """The number of changes by verdict, the most severe first."""
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
    """Return the effects of an update from configuration `old` to `new`, by ParallelCluster's policy of each key.

    Both are ParallelCluster configurations, with intrinsic functions of CloudFormation as possible values. A version of
    `None` counts as unchanged. Defaults: the fleet runs, login nodes run when `old` has any, and `region` is that of
    the configuration.
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
    """Return the changes that require a new cluster.

    Other changes do not matter for a new cluster, and many follow from its new name: the locations of scripts, the IDs
    of its own resources.
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
        reason="ParallelCluster can only update clusters of the same version",
        remedy=f"keep {old}, or create a new cluster (`immutable_changes: new-cluster`)",
    )
    return (_reported((VERSION,), old, new, VERSION, checked),)


def _lost_data(around: Circumstances) -> Sequence[PlannedChange]:
    checked = Decision(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason="with queues in other subnets ParallelCluster creates the file system again, without its data",
        remedy="keep all queues in their subnets; an existing file system, given by its ID, is kept",
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
            reason="a literal is compared with a value that CloudFormation resolves; if they differ, it "
            f"{checked.verdict.value}",
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
    """Return the plan as a table, the most severe changes first, with reason and remedy below each that is not free."""
    if not plan.changes:
        return "nothing changes\n"
    width = max(len(change.verdict.value) for change in plan.changes)
    lines = [line for change in plan.changes for line in _lines(change, width)]
    numbers = ", ".join(f"{verdict.value}: {number}" for verdict, number in plan.numbers.items())
    end = "the update passes" if plan.passes else "ParallelCluster would reject the update"
    if plan.passes and Verdict.UNKNOWN in plan.numbers:
        end += ", unless values that are resolved at deployment differ"
    count = len(plan.changes)
    return "\n".join([*lines, "", f"{count} change{'' if count == 1 else 's'} ({numbers}); {end}"]) + "\n"


def new_cluster_text(plan: UpdatePlan, old_name: str | None, new_name: str | None) -> str:
    """Return that a new cluster is created, and why."""
    lines = [line for change in reasons_for_new_cluster(plan) for line in _lines(change, len(change.verdict.value))]
    end = f"{new_name} would be a new cluster, and {old_name} is deleted once the new one exists"
    return "\n".join([*lines, *([""] if lines else []), end]) + "\n"


def plan_json(plan: UpdatePlan, *, new_cluster: bool = False) -> str:
    """Return the plan as JSON: `new_cluster`, `passes`, the most severe `verdict`, and every change.

    Verdicts are written by name.
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
