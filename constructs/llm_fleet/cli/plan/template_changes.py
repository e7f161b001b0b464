"""What differs between a stack as it is deployed and as it would be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from llm_fleet.catalog.create_only import create_only, touches
from llm_fleet.cli.plan.stack_template import StackTemplate


class ChangeKind(StrEnum):
    """What becomes of a resource."""

    ADDED = "added"
    REPLACED = "replaced"
    MAYBE_REPLACED = "maybe replaced"
    CHANGED = "changed"
    UNKNOWN = "changed, replacement not known"
    REMOVED = "removed"
    KEPT = "removed from the stack, and kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """One resource that a deployment would touch."""

    stack: str
    logical_id: str
    where: str
    """The construct's path."""
    type: str
    kind: ChangeKind
    properties: tuple[str, ...] = ()
    """Which properties differ, e.g. `InstanceGroups[1].InstanceCount`."""


def template_changes(old: StackTemplate, new: StackTemplate) -> tuple[ResourceChange, ...]:
    """Return what differs in the resources of two templates of one stack, in the order of the new one.

    Only what stands in the templates is compared: a property whose value comes from another resource may change with
    that one, and is not told.
    """
    return (*_added_and_changed(old, new), *_removed(old, new))


def _added_and_changed(old: StackTemplate, new: StackTemplate) -> Iterator[ResourceChange]:
    for logical_id, resource in new.resources.items():
        before = old.resources.get(logical_id)
        if before is None:
            yield _change(new, logical_id, ChangeKind.ADDED)
        elif before.get("Type") != resource.get("Type"):
            yield _change(new, logical_id, ChangeKind.REPLACED, ("Type",))
        else:
            changed = tuple(_differing(before.get("Properties", {}), resource.get("Properties", {}), ""))
            if changed:
                yield _change(new, logical_id, _kind(str(resource.get("Type")), changed), changed)


def _removed(old: StackTemplate, new: StackTemplate) -> Iterator[ResourceChange]:
    for logical_id in old.resources:
        if logical_id not in new.resources:
            kept = old.is_kept(logical_id)
            yield _change(old, logical_id, ChangeKind.KEPT if kept else ChangeKind.REMOVED)


def _change(
    stack: StackTemplate, logical_id: str, kind: ChangeKind, properties: tuple[str, ...] = ()
) -> ResourceChange:
    return ResourceChange(
        stack=stack.name,
        logical_id=logical_id,
        where=stack.where(logical_id),
        type=str(stack.resources[logical_id].get("Type")),
        kind=kind,
        properties=properties,
    )


def _kind(resource_type: str, changed: Sequence[str]) -> ChangeKind:
    """A custom resource decides by itself; of other types the catalog may not know."""
    facts = create_only(resource_type)
    if facts is None:
        return ChangeKind.UNKNOWN
    if any(touches(path, fixed) for path in changed for fixed in facts.always):
        return ChangeKind.REPLACED
    if any(touches(path, fixed) for path in changed for fixed in facts.maybe):
        return ChangeKind.MAYBE_REPLACED
    return ChangeKind.CHANGED


def _differing(old: Any, new: Any, path: str) -> Iterator[str]:
    """Yield the paths of values that differ; a function, and a list of another length, is one value."""
    if old == new:
        return
    if _is_plain(old) and _is_plain(new):
        before, after = cast("Mapping[str, Any]", old), cast("Mapping[str, Any]", new)
        for key in dict.fromkeys([*before, *after]):
            yield from _differing(before.get(key), after.get(key), f"{path}.{key}" if path else key)
        return
    if isinstance(old, list) and isinstance(new, list):
        one, two = cast("list[Any]", old), cast("list[Any]", new)
        if len(one) == len(two):
            for index, (before, after) in enumerate(zip(one, two, strict=True)):
                yield from _differing(before, after, f"{path}[{index}]")
            return
    yield path


def _is_plain(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    keys = list(cast("Mapping[str, Any]", value))
    return not (len(keys) == 1 and (keys[0] == "Ref" or keys[0].startswith("Fn::")))
