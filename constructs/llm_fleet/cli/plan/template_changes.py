"""What differs between a stack as it is deployed and as it would be."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from llm_fleet.catalog.aws_api import create_only, touches
from llm_fleet.cli.plan.stack_template import StackTemplate, values_in

_NOTE_OF_THE_CDK = "AWS::CDK::Metadata"
_IN_SUB = re.compile(r"\$\{(\w+)")


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

    A resource that names one that is replaced changes with it, though nothing differs in its own template. The CDK's
    note on itself (`AWS::CDK::Metadata`), which only the CDK CLI adds, is passed over.
    """
    changes = {change.logical_id: change for change in _added_and_changed(old, new)}
    _follow(new, changes)
    return (*(changes[name] for name in new.resources if name in changes), *_removed(old, new))


def _follow(new: StackTemplate, changes: dict[str, ResourceChange]) -> None:
    """Add to `changes` what follows from replaced resources, and what follows from that.

    A custom resource that changes may answer with other values, as the bundle of scripts does.
    """
    moving = (ChangeKind.REPLACED, ChangeKind.UNKNOWN)
    pending = [name for name, change in changes.items() if change.kind in moving]
    while pending:
        replaced = pending.pop()
        for logical_id, resource in new.resources.items():
            before = changes.get(logical_id)
            if before is not None and before.kind in (ChangeKind.ADDED, ChangeKind.REPLACED):
                continue
            paths = tuple(_paths_to(replaced, resource.get("Properties", {}), ""))
            told = before.properties if before else ()
            paths = (*told, *(path for path in paths if path not in told))
            if len(paths) > len(told):
                kind = _kind(str(resource.get("Type")), paths)
                if kind is ChangeKind.REPLACED and changes[replaced].kind is not ChangeKind.REPLACED:
                    kind = ChangeKind.MAYBE_REPLACED
                changes[logical_id] = _change(new, logical_id, kind, paths)
                if kind in moving:
                    pending.append(logical_id)


def _paths_to(logical_id: str, value: Any, path: str) -> Iterator[str]:
    """Yield the paths of the properties within `value` whose value comes from the resource `logical_id`."""
    if _is_plain(value):
        for key, part in cast("Mapping[str, Any]", value).items():
            yield from _paths_to(logical_id, part, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, part in enumerate(cast("list[Any]", value)):
            yield from _paths_to(logical_id, part, f"{path}[{index}]")
    elif logical_id in names_in(value):
        yield path


def names_in(value: object) -> set[str]:
    """Return the logical ids that the functions in `value` name."""
    found: set[str] = set()
    for part in values_in(value):
        if not isinstance(part, Mapping):
            continue
        for function, told in cast("Mapping[str, object]", part).items():
            first: object = next(iter(cast("list[object]", told)), None) if isinstance(told, list) else told
            if not isinstance(first, str):
                continue
            if function in ("Ref", "Fn::GetAtt"):
                found.add(first.partition(".")[0])  # CloudFormation takes "Id.Attribute" as one text, too
            elif function == "Fn::Sub":
                found.update(_IN_SUB.findall(first))
    return found


def _added_and_changed(old: StackTemplate, new: StackTemplate) -> Iterator[ResourceChange]:
    for logical_id, resource in new.resources.items():
        if resource.get("Type") == _NOTE_OF_THE_CDK:
            continue
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
    for logical_id, resource in old.resources.items():
        if logical_id not in new.resources and resource.get("Type") != _NOTE_OF_THE_CDK:
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
    if any(touches(path, fixed) for path in changed for fixed in (*facts.always, *facts.documented)):
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
