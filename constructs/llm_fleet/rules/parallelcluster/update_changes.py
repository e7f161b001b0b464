"""Differences between a deployed cluster and its new configuration."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any, cast

from llm_fleet.catalog.data_file import load
from llm_fleet.rules.terms import QueueUpdateStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A key, section or item of a list that differs."""

    section: tuple[str, ...]
    """The sections around it, items of lists by their names, e.g. `("Scheduling", "SlurmQueues[trn1]")`."""
    key: str
    old: Any
    """`None` when it did not exist."""
    new: Any
    """`None` when it no longer exists."""
    policy: str
    """Name of the ParallelCluster update policy."""
    is_item: bool = False
    """Whether it is a whole item of the list `key`, added or removed."""

    @property
    def path(self) -> tuple[str, ...]:
        """Sections and key."""
        return (*self.section, self.key)

    @property
    def in_queue(self) -> bool:
        """Whether it is in a queue, where `QueueUpdateStrategy` applies."""
        return any(part.startswith("SlurmQueues[") for part in self.section)

    @property
    def adds_item(self) -> bool:
        """Whether it adds an item to a list."""
        return self.is_item and self.old is None

    @property
    def pool(self) -> str:
        """Name of its login pool; empty outside login pools."""
        return self.item_name("Pools")

    def item_name(self, items: str) -> str:
        """Return the name of its item of the list `items`; empty outside such items."""
        prefix = f"{items}["
        return next((part[len(prefix) : -1] for part in self.section if part.startswith(prefix)), "")


Section = Mapping[str, Any]


def normal(value: Any) -> Any:
    """Return `value` with scalars as the provider gets them: CloudFormation converts them to text.

    So 4 equals '4', and `True` equals 'true', regardless of the file they come from. `None` is removed from mappings.
    """
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {str(key): normal(item) for key, item in items if item is not None}
    if isinstance(value, list | tuple):
        return [normal(item) for item in cast("list[Any]", value)]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if value is None else str(value)


def is_intrinsic(value: Any) -> bool:
    """Return whether `value` is an intrinsic function of CloudFormation, which is resolved at deployment."""
    if not isinstance(value, Mapping):
        return False
    names = [str(name) for name in cast("Section", value)]
    return len(names) == 1 and (names[0] in ("Ref", "Condition") or names[0].startswith("Fn::"))


def section_at(configuration: Section, *path: str) -> Section:
    """Return the section at `path`, empty when it is missing."""
    for name in path:
        below = configuration.get(name)
        if not isinstance(below, Mapping):
            return {}
        configuration = cast("Section", below)
    return configuration


def items_at(section: Section | None, name: str) -> list[Section]:
    """Return the sections of the list `name`, none when the list is missing."""
    return [cast("Section", item) for item in as_list((section or {}).get(name)) if isinstance(item, Mapping)]


def as_list(value: Any) -> list[Any]:
    """Return `value` if it is a list, else an empty list."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def may_be_equal(one: Any, other: Any) -> bool:
    """Return whether two normalized values can be equal: a literal can equal the result of a function."""
    if one == other:
        return True
    if is_intrinsic(one) or is_intrinsic(other):
        return not (is_intrinsic(one) and is_intrinsic(other)) and None not in (one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        left, right = cast("Section", one), cast("Section", other)
        return left.keys() == right.keys() and all(may_be_equal(left[name], right[name]) for name in left)
    mine, theirs = as_list(one), as_list(other)
    return bool(mine) and len(mine) == len(theirs) and all(map(may_be_equal, mine, theirs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Both configurations, what runs, and all changes together."""

    old: Section
    new: Section
    changes: Sequence[Change]
    fleet_runs: bool
    """Whether the compute fleet is started. It is, even without nodes, unless it was stopped."""
    region: str
    """AWS region; empty when unknown."""

    @property
    def strategy(self) -> str:
        """`QueueUpdateStrategy` of the new configuration, which is the one that applies."""
        settings = section_at(self.new, "Scheduling", "SlurmSettings")
        return str(settings.get("QueueUpdateStrategy", QueueUpdateStrategy.COMPUTE_FLEET_STOP))

    @property
    def strategy_replaces(self) -> bool:
        """Whether it replaces nodes instead of requiring a stopped fleet."""
        return self.strategy != QueueUpdateStrategy.COMPUTE_FLEET_STOP

    @property
    def running_pools(self) -> frozenset[str]:
        """Names of the login pools that were deployed with a `Count` other than 0."""
        pools = items_at(section_at(self.old, "LoginNodes"), "Pools")
        return frozenset(str(pool.get("Name")) for pool in pools if pool.get("Count") != "0")

    @property
    def login_nodes_run(self) -> bool:
        """Whether any login node runs."""
        return bool(self.running_pools)


class Verdict(StrEnum):
    """What a change requires, in order of severity."""

    FREE = "free"
    """It takes effect without stopping nodes or jobs."""
    DRAINS = "drains the queue"
    """Nodes are replaced once their jobs have ended (`QueueUpdateStrategy: DRAIN`)."""
    TERMINATES = "ends nodes and their jobs"
    """Nodes and their jobs are terminated immediately (`QueueUpdateStrategy: TERMINATE`)."""
    UNKNOWN = "resolved at deployment"
    """A literal value is compared with one that CloudFormation resolves: they may be equal."""
    NEEDS_STOPPED_LOGIN_NODES = "requires stopped login nodes"
    """Login nodes must be stopped first, by a deployment with `Count` 0."""
    NEEDS_STOPPED_FLEET = "requires a stopped fleet"
    """The compute fleet must be stopped first; the provider does not do that."""
    NEEDS_NEW_NAME = "requires another name for the item"
    """The item cannot be changed, but replaced by one with another name."""
    NEEDS_NEW_CLUSTER = "requires a new cluster"
    """No update can make the change."""

    @property
    def passes(self) -> bool:
        """Whether the update would succeed, as far as can be known."""
        return self in (Verdict.FREE, Verdict.DRAINS, Verdict.TERMINATES, Verdict.UNKNOWN)

    @property
    def rank(self) -> int:
        """Severity; the lowest is 0."""
        return list(Verdict).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on one change."""

    verdict: Verdict
    reason: str
    remedy: str = ""
    """The fix; empty when nothing is to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of ParallelCluster's cluster schema."""

    name: str
    policy: str
    """Name of its update policy, e.g. `UNSUPPORTED`."""
    is_list: bool
    is_section: bool
    """Whether it, or each item of it, has keys of its own."""
    item_key: str | None
    """The key that identifies items of a list of sections when two configurations are compared."""
    children: Mapping[str, "Key"]

    @property
    def has_items(self) -> bool:
        """Whether it is a list of sections, e.g. `SlurmQueues`."""
        return self.is_list and self.is_section


@cache
def top_level_keys() -> Mapping[str, Key]:
    """Return the keys at the top level of a configuration, with the keys of sections below them."""
    facts: dict[str, dict[str, Any]] = load("parallelcluster_schema")
    below: dict[str, list[str]] = {}
    for path in facts:
        below.setdefault(path.rpartition("/")[0], []).append(path)
    return _children("", facts, below)


def _children(parent: str, facts: dict[str, dict[str, Any]], below: dict[str, list[str]]) -> dict[str, Key]:
    return {key.name: key for key in (_key(path, facts, below) for path in below.get(parent, ()))}


def _key(path: str, facts: dict[str, dict[str, Any]], below: dict[str, list[str]]) -> Key:
    reported = facts[path]
    return Key(
        name=path.rpartition("/")[2].removesuffix("[]"),
        # ParallelCluster treats a key without a policy as one that cannot be updated (config_patch.py).
        policy=reported.get("policy", "UNSUPPORTED"),
        is_list=path.endswith("[]"),
        is_section=reported["type"] == "section",
        item_key=reported.get("key"),
        children=_children(path, facts, below),
    )


_WIDEST = 72


def value_text(value: Any) -> str:
    """Return `value` in one line of at most 72 characters; the middle of longer text is omitted."""
    if value is None:
        return "(none)"
    text = _text(value)
    half = _WIDEST // 2
    return text if len(text) <= _WIDEST else f"{text[: half - 1]}…{text[-half:]}"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        section = cast("Section", value)
        return (
            _function_text(section) or "{" + ", ".join(f"{key}: {_text(item)}" for key, item in section.items()) + "}"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_text, as_list(value)))}]"
    return json.dumps(value)


def _function_text(section: Section) -> str:
    """`section` as a reference; empty when it is not a function that returns a value."""
    if len(section) != 1:
        return ""
    ((function, argument),) = section.items()
    parts = as_list(argument)
    if function == "Ref":
        return f"${{{argument}}}"
    if function == "Fn::GetAtt" and parts:
        return f"${{{'.'.join(map(str, parts[:2]))}{''.join(f'#{digest}' for digest in parts[2:])}}}"
    if function == "Fn::Join" and len(parts) == 2:
        return str(parts[0]).join(map(_text, as_list(parts[1])))
    return ""


def compare(old: Section, new: Section) -> tuple[Change, ...]:
    """Return the differences, in the order of ParallelCluster's schema. Unknown keys are skipped."""
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
    """Return whether a section, or a list of sections, is resolved at deployment or malformed."""
    return bool(value) and (is_intrinsic(value) or not isinstance(value, shape))


def _opaque(key: Key, old: Any, new: Any, section: tuple[str, ...]) -> list[Change]:
    """Compare as a whole, since it may contain keys that cannot be changed."""
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
    """Compare a hook that has, or had, a sequence of scripts instead of one; the schema has only the one."""
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
    """The candidate with the same name, else one whose name may be equal once resolved at deployment."""
    name = item.get(name_key)
    same = (other for other in candidates if other.get(name_key) == name)
    alike = (other for other in candidates if may_be_equal(other.get(name_key), name))
    return next(same, None) or next(alike, None)


def _item(key: Key, section: tuple[str, ...], *, old: Any, new: Any) -> Change:
    return Change(section=section, key=key.name, old=old, new=new, policy=key.policy, is_item=True)


def _value(section: Section | None, key: Key) -> Any:
    return (section or {}).get(key.name)
