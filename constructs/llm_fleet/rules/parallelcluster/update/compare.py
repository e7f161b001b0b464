"""Tells two configurations apart, key by key, as ParallelCluster's update does (its config/config_patch.py)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llm_fleet.rules.parallelcluster.update.change import Change
from llm_fleet.rules.parallelcluster.update.keys import Key, top_level_keys
from llm_fleet.rules.parallelcluster.update.values import Section, is_intrinsic, items_at, may_be_equal, normal


def compare(old: Section, new: Section) -> tuple[Change, ...]:
    """Return what differs, in the order of ParallelCluster's schema. Keys that it does not know are passed over."""
    return tuple(_in_section(top_level_keys(), normal(old), normal(new), ()))


def _in_section(
    keys: Mapping[str, Key], old: Section | None, new: Section | None, section: tuple[str, ...]
) -> list[Change]:
    changes: list[Change] = []
    for key in keys.values():
        if key.has_items:
            changes += _items(key, old, new, section)
        elif key.is_section:
            changes += _subsection(key, _value(old, key), _value(new, key), section)
        else:
            changes += _plain(key, old, new, section)
    return changes


def _subsection(key: Key, old: Any, new: Any, section: tuple[str, ...]) -> list[Change]:
    if _is_opaque(old, Mapping) or _is_opaque(new, Mapping):
        return _opaque(key, old, new, section)
    if (old and new) or (key.policy == "IGNORED" and (old or new)):
        return _in_section(key.children, old or None, new or None, (*section, key.name))
    return _whole(key, old or None, new or None, section)


def _is_opaque(value: Any, shape: type) -> bool:
    """Tell whether what should be a section, or a list of them, is known at deployment only, or malformed."""
    return bool(value) and (is_intrinsic(value) or not isinstance(value, shape))


def _opaque(key: Key, old: Any, new: Any, section: tuple[str, ...]) -> list[Change]:
    """Compare as a whole; what may be in it may be what never changes."""
    return [replace(change, policy="UNKNOWN") for change in _whole(key, old, new, section)]


def _whole(key: Key, old: Any, new: Any, section: tuple[str, ...]) -> list[Change]:
    if old == new:
        return []
    return [Change(section=section, key=key.name, old=old, new=new, policy=key.policy)]


def _plain(key: Key, old: Section | None, new: Section | None, section: tuple[str, ...]) -> list[Change]:
    if key.name == "Script" and "Sequence" in {*(old or {}), *(new or {})}:
        return _scripts(key, old, new, section)
    return _whole(key, _value(old, key), _value(new, key), section)


def _scripts(key: Key, old: Section | None, new: Section | None, section: tuple[str, ...]) -> list[Change]:
    """Compare a hook that has, or had, a sequence of scripts in place of one; the schema knows only the one."""
    before, after = ({name: (hook or {}).get(name) for name in ("Script", "Sequence")} for hook in (old, new))
    if before == after:
        return []
    if before["Script"] is None and after["Script"] is None:
        sequences = before["Sequence"], after["Sequence"]
        return [Change(section=section, key="Sequence", old=sequences[0], new=sequences[1], policy=key.policy)]
    return [Change(section=section[:-1], key=section[-1], old=normal(before), new=normal(after), policy=key.policy)]


def _items(key: Key, old: Section | None, new: Section | None, section: tuple[str, ...]) -> list[Change]:
    old_items, new_items = _value(old, key), _value(new, key)
    if _is_opaque(old_items, list) or _is_opaque(new_items, list):
        return _opaque(key, old_items, new_items, section)
    changes: list[Change] = []
    name_key = key.item_key or "Name"
    gone = items_at(old, key.name)
    for item in items_at(new, key.name):
        partner = _partner(item, gone, name_key)
        if partner is None:
            changes.append(_item(key, section, old=None, new=item))
        else:
            gone = [other for other in gone if other is not partner]
            inside = (*section, f"{key.name}[{item.get(name_key)}]")
            changes += _in_section(key.children, partner, item, inside)
    return [*changes, *(_item(key, section, old=item, new=None) for item in gone)]


def _partner(item: Section, candidates: list[Section], name_key: str) -> Section | None:
    """The candidate of the same name, else one whose name may turn out to be the same at deployment."""
    name = item.get(name_key)
    same = (other for other in candidates if other.get(name_key) == name)
    alike = (other for other in candidates if may_be_equal(other.get(name_key), name))
    return next(same, None) or next(alike, None)


def _item(key: Key, section: tuple[str, ...], *, old: Any, new: Any) -> Change:
    return Change(section=section, key=key.name, old=old, new=new, policy=key.policy, is_item=True)


def _value(section: Section | None, key: Key) -> Any:
    return (section or {}).get(key.name)
