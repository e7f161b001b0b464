"""Which keys of a section of ParallelCluster's configuration exclude or need each other.

Its schema says so in code (`validates_schema` in pcluster/schemas/cluster_schema.py of aws-parallelcluster 3.16.1), not
in what it tells of itself, so that it is said again here; the tests compare both.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llm_fleet.catalog.parallelcluster_schema import SchemaKey
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.storage_sections import STORAGE_SECTIONS
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved

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
"""At most one of each, wherever a section has them."""

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "CapacityReservationTarget": ("CapacityReservationId", "CapacityReservationResourceGroupArn"),
    "ComputeResources": ("InstanceType", "Instances", "CapacityReservationTarget"),
    "SlurmQueues": ("ComputeResources",),
    "Dcv": ("Enabled",),
    "OnNodeStart": ("Script", "Sequence"),
    "OnNodeConfigured": ("Script", "Sequence"),
    "OnNodeUpdated": ("Script", "Sequence"),
}
"""At least one of these in the section. Without those of queues and DCV ParallelCluster falls over (TypeError)."""

_IMAGE_OF_NODES = ("CustomAmi",)
"""Likewise of the `Image` of nodes, which has no `Os`."""

_BESIDE_ID: Mapping[str, tuple[str, ...]] = {
    "FsxLustreSettings": (),
    "EfsSettings": ("EncryptionInTransit", "IamAuthorization", "AccessPointId"),
}
"""What may stand beside `FileSystemId`: the rest is of one that is made."""

_FROM_BACKUP = (
    "DeploymentType", "PerUnitStorageThroughput", "StorageCapacity", "ImportPath", "ExportPath",
    "ImportedFileChunkSize", "KmsKeyId",
)  # fmt: skip
"""What a Lustre file system has from its backup."""


_NOTHING: tuple[Any, ...] = (None, "", [], {})


def check_keys_together(
    section: Mapping[str, Any], key: SchemaKey, path: tuple[PathPart, ...], *, whole: bool
) -> list[Problem]:
    """Check which keys of `section` exclude each other, and where it is `whole`, which of several are missing."""
    problems = [
        _excluded(present, path)
        for group in _EXCLUDING
        if len(present := [name for name in group if section.get(name)]) > 1
    ]
    needed = _IMAGE_OF_NODES if key.name == "Image" and "Os" not in key.keys else _NEEDED.get(key.name, ())
    if whole and needed and not any(section.get(name) not in _NOTHING for name in needed):
        problems.append(_needs(needed, key, path))
    if key.name in _BESIDE_ID:
        problems += _of_file_system(section, key, path)
    if "StorageType" in key.keys and "MountDir" in key.keys:
        problems += _of_storage(section, path)
    return problems


def _of_file_system(section: Mapping[str, Any], key: SchemaKey, path: tuple[PathPart, ...]) -> list[Problem]:
    problems: list[Problem] = []
    if section.get("FileSystemId") is not None:
        beside = ("FileSystemId", *_BESIDE_ID[key.name])
        problems = [_ignored(name, "FileSystemId", section, path) for name in section if name not in beside]
    if section.get("BackupId") is not None:
        problems += [_ignored(name, "BackupId", section, path) for name in section if name in _FROM_BACKUP]
    if "ThroughputMode" in key.keys:
        problems += _throughput(section, path)
    return problems


def _throughput(section: Mapping[str, Any], path: tuple[PathPart, ...]) -> list[Problem]:
    mode, number = section.get("ThroughputMode"), section.get("ProvisionedThroughput")
    if is_unresolved(mode) or (mode == "provisioned") == bool(number):
        return []
    return [
        Problem(
            code=Code.PC_KEYS_TOGETHER,
            message="ThroughputMode provisioned and ProvisionedThroughput need each other",
            remedy="write both, or leave both out",
            path=(*path, "ThroughputMode"),
            value=mode,
        )
    ]


def _of_storage(section: Mapping[str, Any], path: tuple[PathPart, ...]) -> Iterable[Problem]:
    kind = section.get("StorageType")
    known = {one.value: place.section for one, place in STORAGE_SECTIONS.items()}
    if kind not in known:
        return
    for name in known.values():
        if section.get(name) and name != known[kind]:
            yield Problem(
                code=Code.PC_KEYS_TOGETHER,
                message=f"{name} are not the settings of the StorageType {kind}",
                remedy=f"write {known[kind]}, or another StorageType",
                path=(*path, name),
                value=kind,
            )


def _excluded(present: Sequence[str], path: tuple[PathPart, ...]) -> Problem:
    return Problem(
        code=Code.PC_KEYS_TOGETHER,
        message=f"{_listed(present, 'and')} exclude each other",
        remedy=f"keep {_listed(present, 'or')}",
        path=path,
        value=", ".join(present),
    )


def _needs(needed: Sequence[str], key: SchemaKey, path: tuple[PathPart, ...]) -> Problem:
    return Problem(
        code=Code.PC_KEY_MISSING,
        message=f"{key.name} has no {_listed(needed, 'and no')}",
        remedy=f"write {_listed(needed, 'or')}",
        path=path,
    )


def _ignored(name: str, beside: str, section: Mapping[str, Any], path: tuple[PathPart, ...]) -> Problem:
    whose = "of a file system that exists already" if beside == "FileSystemId" else "what a backup holds already"
    return Problem(
        code=Code.PC_KEYS_TOGETHER,
        message=f"{name} says {whose} how to make it",
        remedy=f"leave out {name}, or {beside}",
        path=(*path, name),
        value=section[name],
    )


def _listed(names: Sequence[str], word: str) -> str:
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else names[0]
