"""Shared storage: names, ids, numbers by kind, and the keys of its settings."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.catalog.parallelcluster_schema import schema_at
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.configuration import check_section
from llm_fleet.rules.parallelcluster.keyed_value import check_keyed
from llm_fleet.rules.parallelcluster.storage_sections import STORAGE_SECTIONS
from llm_fleet.rules.parallelcluster.terms import StorageKind
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster import SharedStorage

_FSX = frozenset({StorageKind.FSX_LUSTRE, StorageKind.FSX_OPEN_ZFS, StorageKind.FSX_ONTAP, StorageKind.FILE_CACHE})
_ONLY_EXISTING = _FSX - {StorageKind.FSX_LUSTRE}
_ALLOWED_WITH_ID = {
    StorageKind.EFS: frozenset({"EncryptionInTransit", "IamAuthorization", "AccessPointId"}),
    StorageKind.EBS: frozenset[str](),
}
"""Settings of the mount, not of the file system. What is not here takes none."""
_EXAMPLES = {
    StorageKind.FSX_OPEN_ZFS: "fsvol-0123456789abcdef0",
    StorageKind.FSX_ONTAP: "fsvol-0123456789abcdef0",
    StorageKind.FILE_CACHE: "fc-0123456789abcdef0",
}


def check_storage_name(storage: SharedStorage) -> list[Problem]:
    """Check the name, which becomes a tag's value (SharedStorageNameValidator).

    Stricter: no slash. ParallelCluster 3.16.1 hands names instead of directories to OverlappingMountDirValidator
    (`_validate_mount_dirs` in pcluster/config/cluster_config.py), and so refuses a storage `a/b` beside an `a`.
    """
    name, limits = storage.name, parallelcluster_limits()
    if is_unresolved(name):
        return []
    longest = limits.storage_name.maximum or 0
    faults: list[str] = []
    if not name:
        faults.append("is empty")
    if not limits.storage_name.matches(name):
        faults.append("holds more than letters, digits and + - = . _ : @")
    if "/" in name:
        faults.append("holds a slash, by which ParallelCluster takes it for a directory")
    if len(name) > longest:
        faults.append(f"is {len(name)} characters long, {len(name) - longest} too many")
    if name in limits.reserved_names:
        faults.append("is taken")
    if not faults:
        return []
    mended = re.sub(r"[^\w+=.:@-]+", "-", name)[:longest].strip("-")
    return [
        Problem(
            code=Code.PC_STORAGE_NAME,
            message=f"the name of the shared storage {' and '.join(faults)}",
            remedy=f"write {mended!r}" if mended and mended not in limits.reserved_names else "write another name",
            path=("name",),
            value=name,
            allowed=f"{limits.storage_name.range} letters, digits and + - = . _ : @",
        )
    ]


def check_settings(storage: SharedStorage) -> list[Problem]:
    """Check the settings' keys and values by the schema, and that what exists is given no settings of a new one."""
    told = STORAGE_SECTIONS[storage.kind]
    key = f"SharedStorage[]/{told.section}"
    problems = check_keyed(
        f"{key}/{told.id_key}",
        storage.existing_id,
        Code.PC_RESOURCE_ID,
        "existing_id",
        what="the id",
        remedy=f"write the id as AWS shows it, e.g. {_EXAMPLES[storage.kind]!r}" if storage.kind in _EXAMPLES else "",
    )
    if storage.existing_id is None and storage.kind in _ONLY_EXISTING:
        problems.append(_not_made(storage))
    if is_unresolved(storage.section):
        return problems
    problems += [problem.under("settings") for problem in check_section(storage.section, key, partial=True)]
    return [*problems, *_check_existing(storage)]


def check_storage_numbers(cluster: ClusterShape) -> list[Problem]:
    """Check how many shared storages of each kind there are (NumberOfStorageValidator)."""
    counts = Counter(_counted(storage) for storage in cluster.shared_storage)
    problems: list[Problem] = []
    for (kind, sort), count in counts.items():
        most = parallelcluster_limits().storage[kind].get(sort)
        if most is not None and count > most:
            problems.append(_too_many(kind, sort, count, most))
    return problems


def check_storage_ids_unique(cluster: ClusterShape) -> list[Problem]:
    """Check that nothing that exists is mounted twice (DuplicateNameValidator of the ids)."""
    ids = Counter(
        storage.existing_id
        for storage in cluster.shared_storage
        if storage.existing_id is not None and not is_unresolved(storage.existing_id)
    )
    return [
        Problem(
            code=Code.PC_NAME_TWICE,
            message=f"{existing} is mounted {count} times",
            remedy="mount it once, and let the other place be a symbolic link or a folder of it",
            path=("shared_storage", storage.name, "existing_id"),
            value=existing,
        )
        for existing, count in ids.items()
        if count > 1
        for storage in [each for each in cluster.shared_storage if each.existing_id == existing][1:]
    ]


def _check_existing(storage: SharedStorage) -> list[Problem]:
    """Keys of a new file system beside the id of one that exists: schema errors of EFS and Lustre.

    Of EBS ParallelCluster says nothing, and drops the settings (stricter).
    """
    if storage.existing_id is None:
        return []
    section = schema_at(f"SharedStorage[]/{STORAGE_SECTIONS[storage.kind].section}")
    known = section.keys if section else {}
    allowed = _ALLOWED_WITH_ID.get(storage.kind, frozenset())
    wrong = [key for key in storage.section if key in known and key not in allowed]
    return [
        Problem(
            code=Code.PC_STORAGE_EXISTING,
            message=f"the {storage.kind} exists, and {key} is for one that ParallelCluster is to make",
            remedy=f"leave {key} out, or leave the id out to have a new one made",
            path=("settings", key),
            value=storage.section[key],
            allowed=", ".join(sorted(allowed)) or "no settings with an id",
        )
        for key in wrong
    ]


def _not_made(storage: SharedStorage) -> Problem:
    return Problem(
        code=Code.PC_RESOURCE_ID,
        message=f"ParallelCluster makes no {storage.kind}, it mounts one that exists",
        remedy=f"make it in the CDK and give its id, e.g. {_EXAMPLES[storage.kind]!r}",
        path=("existing_id",),
    )


def _counted(storage: SharedStorage) -> tuple[str, str]:
    """How the limits count a storage: kind and sort."""
    if storage.kind == StorageKind.EBS:
        raid = _raid(storage.section)
        return ("raid", "new") if raid else ("Ebs", "any")
    sort = "new" if storage.existing_id is None else "existing"
    return ("fsx" if storage.kind in _FSX else "Efs", sort)


def _raid(settings: Mapping[str, Any]) -> bool:
    return settings.get("Raid") is not None


def _too_many(kind: str, sort: str, count: int, most: int) -> Problem:
    words = {"Ebs": "EBS volumes", "raid": "RAID arrays", "Efs": "EFS file systems", "fsx": "FSx file systems"}[kind]
    made = {"new": " that ParallelCluster makes", "existing": " that exist"}.get(sort, "")
    return Problem(
        code=Code.PC_STORAGE_NUMBER,
        message=f"{count} {words}{made} are {count - most} too many",
        remedy="make file systems outside of the cluster and give their ids; they then outlive it"
        if sort == "new" and kind != "raid"
        else "put several folders on one file system",
        path=("shared_storage",),
        value=count,
        allowed=f"up to {most}",
    )
