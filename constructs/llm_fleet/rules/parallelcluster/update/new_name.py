"""Whether a change that no update makes can be had by an item of another name, put in the old one's place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_fleet.rules.parallelcluster.update.change import Change
from llm_fleet.rules.parallelcluster.update.circumstances import Circumstances
from llm_fleet.rules.parallelcluster.update.keys import Key, top_level_keys
from llm_fleet.rules.parallelcluster.update.policies import POLICIES
from llm_fleet.rules.parallelcluster.update.values import Section, items_at, section_at
from llm_fleet.rules.parallelcluster.update.verdict import Judgement, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The innermost item of a list that a change is in."""

    items: Key
    section: tuple[str, ...]
    """Where the list is."""
    name: str
    old: Section | None
    new: Section | None


def under_new_name(change: Change, around: Circumstances, judged: Judgement) -> Judgement:
    """Return what another name for the item would do instead of `judged`; `judged` where that is no way out."""
    if change.policy == "MANAGED_FSX":
        return judged  # A queue of another name would get past the check, and take the file system's subnet from it.
    place = _innermost(change.section, around)
    if place is None or place.old is None or place.new is None:
        return judged
    policy = POLICIES[place.items.policy]
    added = policy.judge(_whole(place, old=None, new=place.new), around).verdict
    removed = policy.judge(_whole(place, old=place.old, new=None), around)
    if Verdict.NEEDS_NEW_CLUSTER in (added, removed.verdict):
        return judged
    remedy = f"give {place.name} in {place.items.name} another name: the one of that name is made, this one removed"
    if removed.verdict is not Verdict.FREE:
        remedy += f" (the removal {removed.verdict.value}: {removed.remedy or removed.reason})"
    if place.items.name == "SharedStorage":
        remedy += "; what ParallelCluster made goes by its DeletionPolicy, with its data"
    return Judgement(verdict=Verdict.NEEDS_NEW_NAME, reason=judged.reason, remedy=remedy)


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
