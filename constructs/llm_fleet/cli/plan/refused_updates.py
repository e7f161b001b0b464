"""Updates that AWS rejects, and settings that have no effect on nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from llm_fleet.catalog.aws_api import create_only
from llm_fleet.catalog.fsx import lustre_variant
from llm_fleet.cli.plan.stack_templates import StackTemplate, value_at
from llm_fleet.cli.plan.template_changes import ChangeKind, ResourceChange, names_in

Properties = Mapping[str, Any]
_FILE_SYSTEM = "AWS::FSx::FileSystem"
_DATABASE = "AWS::RDS::DBInstance"
_LUSTRE = "LustreConfiguration"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedSetting:
    """Why a service rejects the new value of a setting."""

    why: str
    certain: bool = True
    """`False` if the decision depends on values that are not in the templates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnlyGrows:
    """A number that its service does not reduce."""

    type: str
    path: str
    """The property, nested ones after a dot."""
    why: str
    unit: str


# Source: model botocore fsx UpdateFileSystemRequest (StorageCapacity)
# Source: model botocore fsx UpdateFileSystemLustreConfiguration (ThroughputCapacity)
# Source: model botocore fsx UpdateFileSystemLustreMetadataConfiguration (Iops)
# Source: model botocore sagemaker UpdateNotebookInstanceInput (VolumeSizeInGB)
# Source: document https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_PIOPS.ModifyingExisting.html (2022)
_NUMBERS = (
    _OnlyGrows(type=_FILE_SYSTEM, path="StorageCapacity", why="FSx does not reduce the storage capacity", unit="GiB"),
    _OnlyGrows(
        type=_FILE_SYSTEM,
        path=f"{_LUSTRE}.ThroughputCapacity",
        why="FSx does not reduce the throughput of Intelligent-Tiering",
        unit="MB/s",
    ),
    _OnlyGrows(
        type=_FILE_SYSTEM,
        path=f"{_LUSTRE}.MetadataConfiguration.Iops",
        why="FSx does not reduce metadata IOPS",
        unit="IOPS",
    ),
    _OnlyGrows(
        type="AWS::SageMaker::NotebookInstance",
        path="VolumeSizeInGB",
        why="SageMaker does not reduce the volume of a notebook instance",
        unit="GiB",
    ),
    _OnlyGrows(type=_DATABASE, path="AllocatedStorage", why="RDS does not reduce the storage", unit="GiB"),
)


def refused_settings(resource_type: str, old: Properties, new: Properties) -> Iterator[RefusedSetting]:
    """Yield the changes from `old` to `new` properties that the service rejects for an update in place."""
    for one in (one for one in _NUMBERS if one.type == resource_type):
        before, after = (_number(value_at(properties, one.path)) for properties in (old, new))
        if before is not None and after is not None and after < before:
            yield RefusedSetting(why=f"{one.why}: from {before} {one.unit} to {after} {one.unit}")
    if resource_type == _FILE_SYSTEM:
        yield from _storage(old, new)
        yield from _efa(old, new)
        yield from _metadata(old, new)
    if resource_type == _DATABASE:
        yield from _little_more(old, new)


def _storage(old: Properties, new: Properties) -> Iterator[RefusedSetting]:
    """Yield rejected changes of a file system's storage: another type, or an increase that is too small or too large.

    Source: model botocore fsx UpdateFileSystemRequest (StorageCapacity)
    Source: model botocore fsx UpdateFileSystem (StorageType is for FSx for Windows File Server only)
    """
    kinds = [properties.get("StorageType", "SSD") for properties in (old, new)]
    if kinds[0] != kinds[1] and old.get("FileSystemType") != "WINDOWS":
        yield RefusedSetting(why=f"FSx does not change StorageType: from {kinds[0]} to {kinds[1]}")
    before, after = (_number(properties.get("StorageCapacity")) for properties in (old, new))
    if before is None or after is None or after <= before:
        return
    size = f"from {before} GiB to {after} GiB"
    if value_at(old, f"{_LUSTRE}.DeploymentType") == "SCRATCH_1":
        yield RefusedSetting(why=f"SCRATCH_1 keeps its size: {size}")
    elif old.get("FileSystemType") == "OPENZFS" and after * 10 < before * 11:
        yield RefusedSetting(why=f"FSx increases OpenZFS by at least a tenth: {size}")


def _little_more(old: Properties, new: Properties) -> Iterator[RefusedSetting]:
    """Yield increases of a database's storage that are too small for RDS. assumption: rds-refuses-less-than-a-tenth."""
    before, after = (_number(properties.get("AllocatedStorage")) for properties in (old, new))
    if before is not None and after is not None and before < after and after * 10 < before * 11:
        yield RefusedSetting(
            why=f"RDS increases storage by at least a tenth: from {before} GiB to {after} GiB", certain=False
        )


def _efa(old: Properties, new: Properties) -> Iterator[RefusedSetting]:
    """Yield changes that FSx rejects because of EFA, which is set at creation.

    Source: document https://docs.aws.amazon.com/fsx/latest/LustreGuide/efa-file-systems.html (2026-07)
    Source: document https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-throughput-capacity.html (2026-07)
    Source: document https://docs.aws.amazon.com/fsx/latest/LustreGuide/increase-storage-capacity.html (2026-07)
    assumption: fsx-refuses-another-efa
    """
    before, after = (value_at(properties, f"{_LUSTRE}.EfaEnabled") or False for properties in (old, new))
    if not isinstance(before, bool) or not isinstance(after, bool):
        return
    if before is not after:
        words = {True: "on", False: "off"}
        yield RefusedSetting(
            why=f"FSx cannot change EFA: it is {words[before]} and would be {words[after]}. Set `efa: "
            f"{str(before).lower()}` for the file system (`efa_enabled={before}` in Python)"
        )
        return
    if not before:
        return
    path = f"{_LUSTRE}.PerUnitStorageThroughput"
    throughputs = [_number(value_at(properties, path)) for properties in (old, new)]
    if throughputs[0] != throughputs[1]:
        yield RefusedSetting(
            why="FSx does not change the throughput of a file system on SSD with EFA: from "
            f"{throughputs[0]} to {throughputs[1]} MB/s/TiB"
        )
    yield from _efa_size(old, new, throughputs[0])


def _efa_size(old: Properties, new: Properties, throughput: int | None) -> Iterator[RefusedSetting]:
    """Yield a size that FSx rejects for a file system with EFA."""
    before, after = (_number(properties.get("StorageCapacity")) for properties in (old, new))
    variant = lustre_variant(str(value_at(old, f"{_LUSTRE}.DeploymentType")), str(old.get("StorageType", "SSD")))
    tier = variant.tier(throughput) if variant else None
    if before is None or after is None or after <= before or tier is None or tier.efa_capacity is None:
        return
    if not tier.efa_capacity.accepts(after):
        yield RefusedSetting(
            why=f"with EFA and {throughput} MB/s/TiB, FSx increases sizes to {tier.efa_capacity.describe('GiB')}, "
            f"but not from {before} GiB to {after} GiB"
        )


def _metadata(old: Properties, new: Properties) -> Iterator[RefusedSetting]:
    """Yield a change to automatic metadata IOPS, which FSx rejects if these are fewer.

    Source: model botocore fsx UpdateFileSystemLustreMetadataConfiguration (Mode)
    """
    path = f"{_LUSTRE}.MetadataConfiguration.Mode"
    before, after = (value_at(properties, path) for properties in (old, new))
    if before == "USER_PROVISIONED" and after == "AUTOMATIC":
        iops = value_at(old, f"{_LUSTRE}.MetadataConfiguration.Iops")
        why = f"FSx does not reduce metadata IOPS: from {iops} IOPS to the automatic number for the size"
        yield RefusedSetting(why=why, certain=False)


def _number(value: object) -> int | None:
    """Return a number of a template, which may be written as text."""
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    return int(text) if text.isdecimal() else None


_NAMED_WITHIN_ANOTHER = ("AWS::SageMaker::UserProfile",)
"""Types whose names are unique only within another resource: a profile is replaced with its domain."""
_CLUSTER = "AWS::SageMaker::Cluster"
_GONE = (ChangeKind.REMOVED, ChangeKind.KEPT)
_PERHAPS = (ChangeKind.MAYBE_REPLACED, ChangeKind.UNKNOWN)
_SUBNET = "AWS::EC2::Subnet"
_LINK = "AWS::FSx::DataRepositoryAssociation"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedUpdate:
    """Why the update of a stack fails."""

    stack: str
    where: str
    """The construct path of the resource."""
    why: str
    used_by: tuple[str, ...] = ()
    """The stacks that import the value, if that is the reason."""
    certain: bool = True
    """`False` if the replacement depends on values that are resolved at deployment."""
    type: str = ""
    """Type of the resource, e.g. `AWS::FSx::FileSystem`, if `leaves_copy`."""
    leaves_copy: bool = False
    """Whether the new resource is created first and remains. assumption:
    cloudformation-keeps-the-new-copy-of-a-refused-replacement"""


def refused_updates(
    deployed: Mapping[str, StackTemplate], planned: Sequence[StackTemplate], changes: Sequence[ResourceChange]
) -> tuple[RefusedUpdate, ...]:
    """Return the `changes` that CloudFormation rejects, from the templates `deployed`, by name, to those `planned`.

    The CDK deploys a stack before those that import its values: imports of the deployed templates count.
    """
    known = [(deployed[new.name], new) for new in planned if new.name in deployed]
    found: list[RefusedUpdate] = []
    for old, new in known:
        here = {change.logical_id: change for change in changes if change.stack == new.name}
        found += [*_exports(old, new, here, deployed), *_names(old, new, here), *_subnets(old, new, here)]
        found += [*_links(old, new, here), *_settings(old, new, here)]
    return tuple(found)


def _exports(
    old: StackTemplate,
    new: StackTemplate,
    changes: Mapping[str, ResourceChange],
    deployed: Mapping[str, StackTemplate],
) -> Iterator[RefusedUpdate]:
    """Yield one per resource, of which several values may be exported."""
    users: dict[str, set[str]] = {}
    for name, value in old.exports.items():
        users_of_this = {other.name for other in deployed.values() if other is not old and name in other.imports}
        for logical_id in names_in(value):
            change = changes.get(logical_id)
            moves = change is not None and change.kind in (ChangeKind.REPLACED, *_PERHAPS, *_GONE)
            if users_of_this and (moves or name not in new.exports):
                users.setdefault(logical_id, set()).update(users_of_this)
    for logical_id, stacks in users.items():
        change = changes.get(logical_id)
        is_gone = change is None or change.kind in _GONE
        verb = "delete" if is_gone else "change"
        copied = not is_gone and new.is_kept_when_replaced(logical_id)
        yield RefusedUpdate(
            stack=old.name,
            where=old.where(logical_id),
            why=f"CloudFormation does not {verb} a value that other stacks use",
            used_by=tuple(sorted(stacks)),
            certain=change is None or change.kind not in _PERHAPS,
            type=str(new.resources[logical_id].get("Type")) if copied else "",
            leaves_copy=copied,
        )


def _names(old: StackTemplate, new: StackTemplate, changes: Mapping[str, ResourceChange]) -> Iterator[RefusedUpdate]:
    for logical_id, change in changes.items():
        if change.kind not in (ChangeKind.REPLACED, ChangeKind.MAYBE_REPLACED):
            continue
        if change.properties == ("Type",):
            why = "CloudFormation does not change the type of a resource"
            yield RefusedUpdate(stack=old.name, where=change.where, why=why)
            continue
        key = _name_of(change.type)
        before, after = (one.resources[logical_id].get("Properties", {}).get(key) for one in (old, new))
        if before is not None and before == after:
            is_cluster = change.type == _CLUSTER
            thing, what = ("cluster", "`name` of the cluster") if is_cluster else ("resource", f"its `{key}`")
            why = (
                f"CloudFormation creates the new {thing} before it deletes the old one, so they need different names: "
                f"change {what}, too"
            )
            certain = change.kind is ChangeKind.REPLACED
            yield RefusedUpdate(stack=old.name, where=change.where, why=why, certain=certain)


def _name_of(resource_type: str) -> str:
    """Return the property for a user-defined name of this type; empty if there is none.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html:
    "you cannot perform updates that require replacement of this resource" while it has the name
    """
    facts = create_only(resource_type)
    if facts is None or resource_type in _NAMED_WITHIN_ANOTHER:
        return ""
    kind = resource_type.rpartition("::")[2]
    return next((key for key in (f"{kind}Name", "Name") if key in facts.always), "")


def _subnets(old: StackTemplate, new: StackTemplate, changes: Mapping[str, ResourceChange]) -> Iterator[RefusedUpdate]:
    """Yield each new subnet that overlaps one that is deleted later or retained, in a VPC that is kept."""
    there = {id: block for id in old.resources if (block := _block(old, id)) is not None}
    for logical_id, change in changes.items():
        block = _block(new, logical_id)
        if block is None or change.kind not in (ChangeKind.REPLACED, ChangeKind.ADDED):
            continue
        vpc = _vpc(new, logical_id)
        if _is_replaced(vpc, changes):
            continue
        for other, taken in there.items():
            if taken.overlaps(block) and _vpc(old, other) == vpc:
                gone = changes.get(other)
                kept = gone is not None and gone.kind is ChangeKind.KEPT
                then = (
                    "is removed from the stack and retained: delete it first"
                    if kept
                    else "is deleted only at the end of the update"
                )
                why = f"{block} overlaps {taken}, which {then}"
                yield RefusedUpdate(stack=new.name, where=change.where, why=f"InvalidSubnet.Conflict: {why}")
                break


def kept_blocks(
    deployed: Mapping[str, StackTemplate], changes: Sequence[ResourceChange]
) -> Iterator[tuple[ResourceChange, str]]:
    """Yield removed but retained subnets, with their CIDR blocks, which no new subnet of the VPC can have."""
    for change in changes:
        block = _block(deployed[change.stack], change.logical_id)
        if change.kind is ChangeKind.KEPT and block is not None:
            yield change, str(block)


def _links(old: StackTemplate, new: StackTemplate, changes: Mapping[str, ResourceChange]) -> Iterator[RefusedUpdate]:
    """Yield each new link of Lustre to S3 whose directory overlaps that of a link that still exists then.

    Source: model botocore fsx CreateDataRepositoryAssociationRequest (FileSystemPath)
    """
    there = [one["Properties"] for one in old.resources.values() if one.get("Type") == _LINK]
    for logical_id, change in changes.items():
        if change.type != _LINK or change.kind not in (ChangeKind.REPLACED, ChangeKind.ADDED):
            continue
        link = new.resources[logical_id]["Properties"]
        system = link.get("FileSystemId")
        if _is_replaced(system, changes):
            continue
        taken = [one for one in there if one.get("FileSystemId") == system and _overlap(one, link)]
        if taken:
            why = (
                f"FSx links a directory once, and {taken[0].get('FileSystemPath')} is still linked to "
                f"{_in_short(taken[0].get('DataRepositoryPath'))} when {link.get('FileSystemPath')} is linked: first "
                "deploy without both, and delete a retained link with DeleteDataRepositoryAssociation"
            )
            yield RefusedUpdate(stack=new.name, where=change.where, why=why)


def _is_replaced(value: object, changes: Mapping[str, ResourceChange]) -> bool:
    """Return whether `value` names a resource of the stack that is replaced."""
    return any(changes[id].kind is ChangeKind.REPLACED for id in names_in(value) if id in changes)


def _overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    first, second = (str(link.get("FileSystemPath", "/")).rstrip("/") + "/" for link in (one, other))
    return first.startswith(second) or second.startswith(first)


def _in_short(path: object) -> str:
    return path if isinstance(path, str) else "another path"


def _settings(old: StackTemplate, new: StackTemplate, changes: Mapping[str, ResourceChange]) -> Iterator[RefusedUpdate]:
    """Yield each setting of changed resources that its service does not change."""
    for logical_id, change in changes.items():
        if change.kind is ChangeKind.CHANGED:
            before, after = (one.resources[logical_id].get("Properties", {}) for one in (old, new))
            for one in refused_settings(change.type, before, after):
                yield RefusedUpdate(stack=new.name, where=change.where, why=one.why, certain=one.certain)


def _block(stack: StackTemplate, logical_id: str) -> IPv4Network | None:
    resource = stack.resources.get(logical_id, {})
    cidr = resource.get("Properties", {}).get("CidrBlock")
    return IPv4Network(cidr) if resource.get("Type") == _SUBNET and isinstance(cidr, str) else None


def _vpc(stack: StackTemplate, logical_id: str) -> Any:
    return stack.resources[logical_id].get("Properties", {}).get("VpcId")
