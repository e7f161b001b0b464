"""Differences of two templates, and the resources and data that are lost with them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from llm_fleet.catalog.aws_api import create_only, touches
from llm_fleet.catalog.data_file import reader
from llm_fleet.cli.plan.stack_templates import StackTemplate, values_in
from llm_fleet.rules.feature_codes import PlanCode
from llm_fleet.rules.problem import AnyCode

_NOTE_OF_THE_CDK = "AWS::CDK::Metadata"
_IN_SUB = re.compile(r"\$\{(\w+)")


class ChangeKind(StrEnum):
    """Kind of the change of a resource."""

    ADDED = "added"
    REPLACED = "replaced"
    MAYBE_REPLACED = "maybe replaced"
    CHANGED = "changed"
    UNKNOWN = "changed, replacement unknown"
    REMOVED = "removed"
    KEPT = "removed from the stack, and retained"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """A resource that a deployment changes."""

    stack: str
    logical_id: str
    where: str
    """The construct path."""
    type: str
    kind: ChangeKind
    properties: tuple[str, ...] = ()
    """The changed properties, e.g. `InstanceGroups[1].InstanceCount`."""


def template_changes(old: StackTemplate, new: StackTemplate) -> tuple[ResourceChange, ...]:
    """Return the changed resources of two templates of a stack, in the order of the new one.

    A resource that refers to a replaced one changes with it, even if its template is equal. The CDK's metadata
    (`AWS::CDK::Metadata`), which only the CDK CLI adds, is ignored.
    """
    changes = {change.logical_id: change for change in _added_and_changed(old, new)}
    _follow(new, changes)
    return (*(changes[name] for name in new.resources if name in changes), *_removed(old, new))


def _follow(new: StackTemplate, changes: dict[str, ResourceChange]) -> None:
    """Add to `changes` the direct and indirect effects of replaced resources.

    A changed custom resource may return other values, e.g. the bundle of scripts.
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
            reported = before.properties if before else ()
            paths = (*reported, *(path for path in paths if path not in reported))
            if len(paths) > len(reported):
                kind = _kind(str(resource.get("Type")), paths)
                if kind is ChangeKind.REPLACED and changes[replaced].kind is not ChangeKind.REPLACED:
                    kind = ChangeKind.MAYBE_REPLACED
                changes[logical_id] = _change(new, logical_id, kind, paths)
                if kind in moving:
                    pending.append(logical_id)


def _paths_to(logical_id: str, value: Any, path: str) -> Iterator[str]:
    """Yield the paths of the properties within `value` that refer to the resource `logical_id`."""
    if _is_plain(value):
        for key, part in cast("Mapping[str, Any]", value).items():
            yield from _paths_to(logical_id, part, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, part in enumerate(cast("list[Any]", value)):
            yield from _paths_to(logical_id, part, f"{path}[{index}]")
    elif logical_id in names_in(value):
        yield path


def names_in(value: object) -> set[str]:
    """Return the logical ids in the functions within `value`."""
    found: set[str] = set()
    for part in values_in(value):
        if not isinstance(part, Mapping):
            continue
        for function, reported in cast("Mapping[str, object]", part).items():
            first: object = next(iter(cast("list[object]", reported)), None) if isinstance(reported, list) else reported
            if not isinstance(first, str):
                continue
            if function in ("Ref", "Fn::GetAtt"):
                found.add(first.partition(".")[0])  # CloudFormation also accepts "Id.Attribute" as one text
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
    """Custom resources decide about replacement themselves; other types may be missing in the catalog."""
    facts = create_only(resource_type)
    if facts is None:
        return ChangeKind.UNKNOWN
    if any(touches(path, fixed) for path in changed for fixed in (*facts.always, *facts.documented)):
        return ChangeKind.REPLACED
    if any(touches(path, fixed) for path in changed for fixed in facts.maybe):
        return ChangeKind.MAYBE_REPLACED
    return ChangeKind.CHANGED


def _differing(old: Any, new: Any, path: str) -> Iterator[str]:
    """Yield the paths of different values; a function, or a list of another length, counts as one value."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeNote:
    """A resource that a release of llm-fleet replaces or removes in deployed stacks."""

    type: str
    logical_id: re.Pattern[str]
    """Pattern of the logical id, which is searched; empty for any."""
    property: str
    """The changed property; empty for any."""
    kinds: frozenset[str]
    """The values of `ChangeKind` that it is about."""
    note: str
    """Sentence of the changelog that says what to do."""


_notes = reader(tuple[UpgradeNote, ...], "upgrade_notes", "notes")


def upgrade_notes(changes: Sequence[ResourceChange]) -> Iterator[tuple[ResourceChange, str]]:
    """Yield each change of a resource that a release of llm-fleet causes, with the sentence of its changelog."""
    for change in changes:
        for one in _notes():
            touched = not one.property or any(touches(path, one.property) for path in change.properties)
            same = change.type == one.type and one.logical_id.search(change.logical_id) is not None
            if same and touched and change.kind.value in one.kinds:
                yield change, one.note


_DATA = {
    "AWS::DynamoDB::Table": "table",
    "AWS::FSx::FileSystem": "file system",
    "AWS::FSx::Volume": "volume",
    "AWS::KMS::Key": "key, and with it access to everything that it encrypts,",
    "AWS::Logs::LogGroup": "log group",
    "AWS::RDS::DBCluster": "database",
    "AWS::RDS::DBInstance": "database",
    "AWS::S3::Bucket": "bucket",
    "AWS::SageMaker::Domain": "Studio domain, with the homes and spaces of its users,",
    "AWS::SageMaker::NotebookInstance": "notebook instance, with its volume,",
    "AWS::SageMaker::UserProfile": "Studio user profile",
}
"""Types with data that cannot be created again."""
_JOBS = {"AWS::SageMaker::Cluster": "cluster", "Custom::PclusterCluster": "cluster"}
_ADDRESSES = {"AWS::ElasticLoadBalancingV2::LoadBalancer": "load balancer"}
_TYPES: Sequence[tuple[AnyCode, Mapping[str, str]]] = (
    (PlanCode.DATA, _DATA),
    (PlanCode.JOBS, _JOBS),
    (PlanCode.ADDRESS, _ADDRESSES),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Data or a resource that is lost or left behind by a change."""

    code: str
    """A `PlanCode`, e.g. `LF1086`."""
    stack: str
    where: str
    """The construct path."""
    what: str
    """Text of the loss."""


def losses(
    deployed: Mapping[str, StackTemplate], planned: Sequence[StackTemplate], changes: Sequence[ResourceChange]
) -> tuple[Loss, ...]:
    """Return the losses by `changes`, from the templates `deployed`, by name, to those `planned`."""
    new = {stack.name: stack for stack in planned}
    return tuple(loss for one in changes for loss in _losses(one, deployed[one.stack], new[one.stack]))


def _losses(change: ResourceChange, old: StackTemplate, new: StackTemplate) -> Iterator[Loss]:
    reported = (old if change.kind in (ChangeKind.REMOVED, ChangeKind.KEPT) else new).resources[change.logical_id]
    if "DBClusterIdentifier" in reported.get("Properties", {}):
        return  # a member of an Aurora cluster: the data is the cluster's
    for code, types in _TYPES:
        thing = types.get(change.type)
        what = _in_words(code, thing, change, old, new) if thing else None
        if what is not None:
            yield Loss(code=code.value, stack=change.stack, where=change.where, what=what)


def _in_words(code: AnyCode, thing: str, change: ResourceChange, old: StackTemplate, new: StackTemplate) -> str | None:
    match change.kind:
        case ChangeKind.REPLACED | ChangeKind.MAYBE_REPLACED:
            verb = "is" if change.kind is ChangeKind.REPLACED else "may be"
            if new.is_kept_when_replaced(change.logical_id):
                return f"the {thing} {verb} replaced: {_FATE_OF_KEPT[code]}"
            end = _end(code, change, old, snapshot=new.leaves_snapshot_when_replaced(change.logical_id))
            return f"the {thing} {verb} replaced: {_FATE_OF_REPLACED[code]}{end}"
        case ChangeKind.REMOVED:
            return f"the {thing} is deleted{_end(code, change, old, snapshot=old.leaves_snapshot(change.logical_id))}"
        case ChangeKind.KEPT if code is PlanCode.DATA:
            return (
                f"the {thing} is removed from the stack and retained with its data: it costs money until you delete it"
            )
        case _:
            return None


def _end(code: AnyCode, change: ResourceChange, old: StackTemplate, *, snapshot: bool) -> str:
    """Return what a deletion removes, or leaves behind.

    Source: model botocore kms ScheduleKeyDeletion
    Source: model botocore sagemaker DeleteUserProfile (ResourceInUse)
    """
    if snapshot:
        return "; a snapshot is created first, is kept, and costs money"
    if change.type == "AWS::KMS::Key":
        days = old.resources[change.logical_id].get("Properties", {}).get("PendingWindowInDays", 30)
        return f" after {days} days; until then CancelKeyDeletion cancels this"
    if change.type == "AWS::SageMaker::UserProfile":
        return (
            ", unless it still has spaces or applications: then SageMaker rejects this (ResourceInUse), and it "
            "remains with its data, outside any stack"
        )
    return _FATE_OF_REMOVED[code]


# The new resource is created first, then the old one is deleted, unless its UpdateReplacePolicy retains it.
# Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatereplacepolicy.html
_ANOTHER_NAME = "the new one has another DNS name, which clients need"
_FATE_OF_KEPT: Mapping[AnyCode, str] = {
    PlanCode.DATA: "the new one is empty; the old one is retained with its data, outside any stack, and costs money",
    PlanCode.JOBS: "the old one is retained outside any stack and costs money; its jobs do not move",
    PlanCode.ADDRESS: _ANOTHER_NAME,
}
_FATE_OF_REPLACED: Mapping[AnyCode, str] = {
    PlanCode.DATA: "the new one is empty, and the old one is deleted",
    PlanCode.JOBS: "the old one is deleted",
    PlanCode.ADDRESS: f"{_ANOTHER_NAME}; the old one is deleted",
}
_FATE_OF_REMOVED: Mapping[AnyCode, str] = {
    PlanCode.DATA: ", with its data",
    PlanCode.JOBS: ", with its nodes, their disks, Slurm's queue and running jobs",
    PlanCode.ADDRESS: ": its DNS name stops working",
}
