"""Which changes of a setting its service refuses, although CloudFormation would not replace the resource for them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from llm_fleet.catalog.lustre import lustre_variant
from llm_fleet.cli.plan.stack_template import value_at

Properties = Mapping[str, Any]
_FILE_SYSTEM = "AWS::FSx::FileSystem"
_DATABASE = "AWS::RDS::DBInstance"
_LUSTRE = "LustreConfiguration"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedSetting:
    """Why a service would refuse the new value of a setting."""

    why: str
    certain: bool = True
    """`False` where the service decides by what the templates do not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnlyGrows:
    """A number that its service takes no smaller value of."""

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
    _OnlyGrows(type=_FILE_SYSTEM, path="StorageCapacity", why="FSx takes no storage away", unit="GiB"),
    _OnlyGrows(
        type=_FILE_SYSTEM,
        path=f"{_LUSTRE}.ThroughputCapacity",
        why="FSx takes no throughput of Intelligent-Tiering away",
        unit="MB/s",
    ),
    _OnlyGrows(
        type=_FILE_SYSTEM,
        path=f"{_LUSTRE}.MetadataConfiguration.Iops",
        why="FSx takes no metadata IOPS away",
        unit="IOPS",
    ),
    _OnlyGrows(
        type="AWS::SageMaker::NotebookInstance",
        path="VolumeSizeInGB",
        why="SageMaker makes no volume of a notebook instance smaller",
        unit="GiB",
    ),
    _OnlyGrows(type=_DATABASE, path="AllocatedStorage", why="RDS takes no storage away", unit="GiB"),
)


def refused_settings(resource_type: str, old: Properties, new: Properties) -> Iterator[RefusedSetting]:
    """Yield what the service refuses of the properties `new` of a resource that has `old` and is changed in place."""
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
    """Yield where a file system would get more storage than it takes, or less more than FSx adds, or another kind.

    Source: model botocore fsx UpdateFileSystemRequest (StorageCapacity)
    Source: model botocore fsx UpdateFileSystem (StorageType is for FSx for Windows File Server alone)
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
        yield RefusedSetting(why=f"FSx adds a tenth at least to OpenZFS: {size}")


def _little_more(old: Properties, new: Properties) -> Iterator[RefusedSetting]:
    """Yield where a database would get less storage more than RDS adds. assumption: rds-refuses-less-than-a-tenth."""
    before, after = (_number(properties.get("AllocatedStorage")) for properties in (old, new))
    if before is not None and after is not None and before < after and after * 10 < before * 11:
        yield RefusedSetting(why=f"RDS adds a tenth at least: from {before} GiB to {after} GiB", certain=False)


def _efa(old: Properties, new: Properties) -> Iterator[RefusedSetting]:
    """Yield what FSx refuses because of EFA, which it decides once.

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
            why=f"FSx decides EFA once: it is {words[before]} and would be {words[after]}. Write `efa: "
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
    """Yield a size that a file system with EFA is not grown to."""
    before, after = (_number(properties.get("StorageCapacity")) for properties in (old, new))
    variant = lustre_variant(str(value_at(old, f"{_LUSTRE}.DeploymentType")), str(old.get("StorageType", "SSD")))
    tier = variant.tier(throughput) if variant else None
    if before is None or after is None or after <= before or tier is None or tier.efa_capacity is None:
        return
    if not tier.efa_capacity.accepts(after):
        yield RefusedSetting(
            why=f"with EFA and {throughput} MB/s/TiB, FSx grows a file system to {tier.efa_capacity.describe('GiB')}, "
            f"and not from {before} GiB to {after} GiB"
        )


def _metadata(old: Properties, new: Properties) -> Iterator[RefusedSetting]:
    """Yield a change to automatic metadata IOPS, which FSx takes only where those are no fewer.

    Source: model botocore fsx UpdateFileSystemLustreMetadataConfiguration (Mode)
    """
    path = f"{_LUSTRE}.MetadataConfiguration.Mode"
    before, after = (value_at(properties, path) for properties in (old, new))
    if before == "USER_PROVISIONED" and after == "AUTOMATIC":
        iops = value_at(old, f"{_LUSTRE}.MetadataConfiguration.Iops")
        why = f"FSx takes no metadata IOPS away: from {iops} IOPS to what it chooses by the size"
        yield RefusedSetting(why=why, certain=False)


def _number(value: object) -> int | None:
    """Return a number of a template, which may be written as text."""
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    return int(text) if text.isdecimal() else None
