"""Sections of a ParallelCluster configuration: which keys exclude or require each other.

ParallelCluster has these rules in code (`validates_schema` in pcluster/schemas/cluster_schema.py of aws-parallelcluster
3.16.1), not in its schema, so they are repeated here; the tests compare both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from llm_fleet.catalog.parallelcluster import SchemaKey, schema_at
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.terms import StorageKind


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSection:
    """The section of a kind, e.g. `FsxLustreSettings`."""

    section: str
    id_key: str


STORAGE_SECTIONS = {
    StorageKind.EBS: StorageSection(section="EbsSettings", id_key="VolumeId"),
    StorageKind.EFS: StorageSection(section="EfsSettings", id_key="FileSystemId"),
    StorageKind.FSX_LUSTRE: StorageSection(section="FsxLustreSettings", id_key="FileSystemId"),
    StorageKind.FSX_OPEN_ZFS: StorageSection(section="FsxOpenZfsSettings", id_key="VolumeId"),
    StorageKind.FSX_ONTAP: StorageSection(section="FsxOntapSettings", id_key="VolumeId"),
    StorageKind.FILE_CACHE: StorageSection(section="FileCacheSettings", id_key="FileCacheId"),
}


_EXCLUDING: tuple[tuple[str, ...], ...] = (
    ("SecurityGroups", "AdditionalSecurityGroups"),
    ("InstanceRole", "InstanceProfile", "AdditionalIamPolicies"),
    ("InstanceRole", "S3Access"),
    ("InstanceProfile", "S3Access"),
    ("InstanceType", "Instances"),
    ("CapacityReservationId", "CapacityReservationResourceGroupArn"),
    ("Script", "Sequence"),
    tuple(place.section for place in STORAGE_SECTIONS.values()),
)
"""At most one of each, in any section."""

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "CapacityReservationTarget": ("CapacityReservationId", "CapacityReservationResourceGroupArn"),
    "ComputeResources": ("InstanceType", "Instances", "CapacityReservationTarget"),
    "SlurmQueues": ("ComputeResources",),
    "Dcv": ("Enabled",),
    "OnNodeStart": ("Script", "Sequence"),
    "OnNodeConfigured": ("Script", "Sequence"),
    "OnNodeUpdated": ("Script", "Sequence"),
}
"""At least one of these in the section. Without those of queues and DCV, ParallelCluster fails with a TypeError."""

_IMAGE_OF_NODES = ("CustomAmi",)
"""The same for the `Image` of nodes, which has no `Os`."""

_NEXT_TO_ID: Mapping[str, tuple[str, ...]] = {
    "FsxLustreSettings": (),
    "EfsSettings": ("EncryptionInTransit", "IamAuthorization", "AccessPointId"),
}
"""Keys allowed with `FileSystemId`: the others are for a new file system."""

_FROM_BACKUP = (
    "DeploymentType", "PerUnitStorageThroughput", "StorageCapacity", "ImportPath", "ExportPath",
    "ImportedFileChunkSize", "KmsKeyId",
)  # fmt: skip
"""Settings that a restored Lustre file system takes from its backup."""


_NOTHING: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """The rules of the section at one place; most sections have none."""

    excluding: tuple[tuple[str, ...], ...]
    needed: tuple[str, ...]
    of_file_system: bool
    of_storage: bool


@rule
def check_keys_together(
    section: Mapping[str, Any], key: SchemaKey, path: tuple[PathPart, ...], *, whole: bool
) -> Iterator[Problem]:
    """Check which keys of `section` exclude each other, and, when it is `whole`, which required ones are missing."""
    rules = _rules_at(key.place)
    if rules is None:
        return
    for group in rules.excluding:
        if len(present := [name for name in group if section.get(name)]) > 1:
            yield Problem(
                code=Code.PC_KEYS_TOGETHER,
                message=f"{_listed(present, 'and')} exclude each other",
                remedy=f"keep {_listed(present, 'or')}",
                path=path,
                value=", ".join(present),
            )
    if whole and rules.needed and not any(section.get(name) not in _NOTHING for name in rules.needed):
        yield Problem(
            code=Code.PC_KEY_MISSING,
            message=f"{key.name} requires {_listed(rules.needed, 'or')}",
            remedy=f"write {_listed(rules.needed, 'or')}",
            path=path,
        )
    if rules.of_file_system:
        yield from _of_file_system(section, key, path)
    if rules.of_storage:
        yield from _of_storage(section, path)


@cache
def _rules_at(place: str) -> _Rules | None:
    """The rules of the section at `place`; cached, since a cluster has thousands of sections."""
    key = schema_at(place)
    names = frozenset(key.keys if key is not None else ())
    name = place.rpartition("/")[2].removesuffix("[]")
    of_nodes = name == "Image" and "Os" not in names
    rules = _Rules(
        excluding=tuple(group for group in _EXCLUDING if len(names.intersection(group)) > 1),
        needed=_IMAGE_OF_NODES if of_nodes else _NEEDED.get(name, ()),
        of_file_system=name in _NEXT_TO_ID,
        of_storage={"StorageType", "MountDir"} <= names,
    )
    return rules if rules != _NO_RULES else None


_NO_RULES = _Rules(excluding=(), needed=(), of_file_system=False, of_storage=False)


def _of_file_system(section: Mapping[str, Any], key: SchemaKey, path: tuple[PathPart, ...]) -> Iterator[Problem]:
    if section.get("FileSystemId") is not None:
        next_to = ("FileSystemId", *_NEXT_TO_ID[key.name])
        yield from (_ignored(name, "FileSystemId", section, path) for name in section if name not in next_to)
    if section.get("BackupId") is not None:
        yield from (_ignored(name, "BackupId", section, path) for name in section if name in _FROM_BACKUP)
    mode, number = section.get("ThroughputMode"), section.get("ProvisionedThroughput")
    if "ThroughputMode" in key.keys and not is_unresolved(mode) and (mode == "provisioned") != bool(number):
        yield Problem(
            code=Code.PC_KEYS_TOGETHER,
            message="ThroughputMode provisioned and ProvisionedThroughput require each other",
            remedy="write both, or remove both",
            path=(*path, "ThroughputMode"),
            value=mode,
        )


def _of_storage(section: Mapping[str, Any], path: tuple[PathPart, ...]) -> Iterable[Problem]:
    kind = section.get("StorageType")
    known = {one.value: place.section for one, place in STORAGE_SECTIONS.items()}
    if kind not in known:
        return
    for name in known.values():
        if section.get(name) and name != known[kind]:
            yield Problem(
                code=Code.PC_KEYS_TOGETHER,
                message=f"{name} does not match StorageType {kind}",
                remedy=f"write {known[kind]}, or another StorageType",
                path=(*path, name),
                value=kind,
            )


def _ignored(name: str, next_to: str, section: Mapping[str, Any], path: tuple[PathPart, ...]) -> Problem:
    why = "FileSystemId refers to an existing file system" if next_to == "FileSystemId" else "the backup contains it"
    return Problem(
        code=Code.PC_KEYS_TOGETHER,
        message=f"{name} is a setting of a new file system, but {why}",
        remedy=f"remove {name}, or {next_to}",
        path=(*path, name),
        value=section[name],
    )


def _listed(names: Sequence[str], word: str) -> str:
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else names[0]


def overridden(overrides: Mapping[str, Any], *keys: str) -> Any:
    """Return the value at `keys`, e.g. `"DevSettings", "EfaInterfaceType"`; `None` when it is missing."""
    value: Any = overrides
    for key in keys:
        value = cast(Mapping[str, Any], value).get(key) if isinstance(value, Mapping) else None
    return value


def section(overrides: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the section at `keys`; an empty one when it is missing."""
    value = overridden(overrides, *keys)
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def items(overrides: Mapping[str, Any], *keys: str) -> Sequence[Mapping[str, Any]]:
    """Return the sections of the list at `keys`; none when the list is missing."""
    value = overridden(overrides, *keys)
    if not isinstance(value, list | tuple):
        return ()
    return [cast(Mapping[str, Any], item) for item in cast(Sequence[Any], value) if isinstance(item, Mapping)]
