"""Shared storage of a cluster and its mount directories."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.catalog.parallelcluster import SECTION, SchemaKey, mount_dirs, parallelcluster_limits, schema_at
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import (
    WrongTypeError,
    check_keyed,
    check_section,
    is_known_later,
    read_value,
)
from llm_fleet.rules.parallelcluster.schema_sections import STORAGE_SECTIONS
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.terms import StorageKind
from llm_fleet.rules.values import repeated
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SharedStorage

_FSX = frozenset({StorageKind.FSX_LUSTRE, StorageKind.FSX_OPEN_ZFS, StorageKind.FSX_ONTAP, StorageKind.FILE_CACHE})
_ONLY_EXISTING = _FSX - {StorageKind.FSX_LUSTRE}
_ALLOWED_WITH_ID = {
    StorageKind.EFS: frozenset({"EncryptionInTransit", "IamAuthorization", "AccessPointId"}),
    StorageKind.EBS: frozenset[str](),
}
"""Settings of the mount, not of the file system, by kind of storage."""
_EXAMPLES = {
    StorageKind.FSX_OPEN_ZFS: "fsvol-0123456789abcdef0",
    StorageKind.FSX_ONTAP: "fsvol-0123456789abcdef0",
    StorageKind.FILE_CACHE: "fc-0123456789abcdef0",
}


@rule
def check_storage_name(storage: SharedStorage) -> Iterator[Problem]:
    """Check the name, which becomes a tag's value (SharedStorageNameValidator).

    Stricter: no slash. ParallelCluster 3.16.1 passes names instead of directories to OverlappingMountDirValidator
    (`_validate_mount_dirs` in pcluster/config/cluster_config.py), and so rejects a storage `a/b` next to `a`.
    """
    name, limits = storage.name, parallelcluster_limits()
    if is_unresolved(name):
        return
    longest = limits.storage_name.maximum or 0
    faults: list[str] = []
    if not name:
        faults.append("is empty")
    if not limits.storage_name.matches(name):
        faults.append("contains characters other than letters, digits and + - = . _ : @")
    if "/" in name:
        faults.append("contains a slash, so ParallelCluster reads it as a directory")
    if len(name) > longest:
        faults.append(f"is {len(name)} characters long, {len(name) - longest} too many")
    if name in limits.reserved_names:
        faults.append("is reserved")
    if not faults:
        return
    repaired = re.sub(r"[^\w+=.:@-]+", "-", name)[:longest].strip("-")
    yield storage.wrong(
        "name",
        Code.PC_STORAGE_NAME,
        f"the name of the shared storage {' and '.join(faults)}",
        f"write `{repaired}`" if repaired and repaired not in limits.reserved_names else "write another name",
        allowed=f"{limits.storage_name.range} letters, digits and + - = . _ : @",
    )


@rule
def check_settings(storage: SharedStorage) -> Iterator[Problem]:
    """Check keys and values of the settings, and that existing storage has no settings of a new one."""
    if is_unresolved(storage.kind):
        return
    reported = STORAGE_SECTIONS[storage.kind]
    key = f"SharedStorage[]/{reported.section}"
    yield from check_keyed(
        f"{key}/{reported.id_key}",
        storage.existing_id,
        Code.PC_RESOURCE_ID,
        "existing_id",
        what="the ID",
        remedy=f"write the ID as AWS shows it, e.g. `{_EXAMPLES[storage.kind]}`" if storage.kind in _EXAMPLES else "",
    )
    if storage.existing_id is None and storage.kind in _ONLY_EXISTING:
        yield storage.wrong(
            "existing_id",
            Code.PC_RESOURCE_ID,
            f"ParallelCluster cannot create {storage.kind}, it only mounts an existing one",
            f"create it with the CDK and write its ID, e.g. `{_EXAMPLES[storage.kind]}`",
        )
    if not is_unresolved(storage.section):
        yield from (each.under("settings") for each in check_section(storage.section, key, partial=True))
        yield from _check_existing(storage)


@rule
def check_storage_numbers(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check the number of shared storages of each kind (NumberOfStorageValidator)."""
    counts = Counter(_counted(storage) for storage in cluster.shared_storage)
    for (kind, sort), count in counts.items():
        most = parallelcluster_limits().storage[kind].get(sort)
        if most is not None and count > most:
            yield _too_many(kind, sort, count, most)


@rule
def check_storage_ids_unique(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that no existing storage is mounted twice (DuplicateNameValidator of the IDs)."""
    existing = [storage for storage in cluster.shared_storage if storage.existing_id is not None]
    for existing_id, count in repeated(storage.existing_id for storage in existing).items():
        for storage in [each for each in existing if each.existing_id == existing_id][1:]:
            yield storage.wrong(
                "existing_id",
                Code.PC_NAME_TWICE,
                f"{existing_id} is mounted {count} times",
                "mount it once, and make the other place a symbolic link",
            ).under("shared_storage", storage.name)


def _check_existing(storage: SharedStorage) -> Iterator[Problem]:
    """Settings of a new file system together with the ID of an existing one: schema errors for EFS and Lustre.

    For EBS ParallelCluster ignores the settings silently (stricter here).
    """
    section = schema_at(f"SharedStorage[]/{STORAGE_SECTIONS[storage.kind].section}")
    known = section.keys if section and storage.existing_id is not None else {}
    allowed = _ALLOWED_WITH_ID.get(storage.kind, frozenset())
    for key, value in storage.section.items():
        if key in known and key not in allowed:
            yield storage.wrong(
                ("settings", key),
                Code.PC_STORAGE_EXISTING,
                f"{key} is for new storage, but this {storage.kind} exists already",
                f"remove {key}, or remove the ID to create new storage",
                allowed=", ".join(sorted(allowed)) or "no settings with an ID",
                value=value,
            )


def _counted(storage: SharedStorage) -> tuple[str, str]:
    """How the limits count storage: its kind, and whether it exists."""
    if storage.kind == StorageKind.EBS:
        return ("Ebs", "any") if storage.section.get("Raid") is None else ("raid", "new")
    sort = "new" if storage.existing_id is None else "existing"
    return ("fsx" if storage.kind in _FSX else "Efs", sort)


def _too_many(kind: str, sort: str, count: int, most: int) -> Problem:
    words = {"Ebs": "EBS volumes", "raid": "RAID arrays", "Efs": "EFS file systems", "fsx": "FSx file systems"}[kind]
    made = {"new": " that ParallelCluster makes", "existing": " that exist"}.get(sort, "")
    return Problem(
        code=Code.PC_STORAGE_NUMBER,
        message=f"the cluster has {count} {words}{made}, {count - most} too many",
        remedy="create file systems outside the cluster and write their IDs; they then outlive the cluster"
        if sort == "new" and kind != "raid"
        else "use several directories of one file system",
        path=("shared_storage",),
        value=count,
        allowed=f"up to {most}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _LocalDisk:
    mount_dir: str
    path: tuple[PathPart, ...]
    owner: str


def check_mount_dir(storage: SharedStorage) -> list[Problem]:
    """Check one mount directory: its format, that it is not reserved (SharedStorageMountDirValidator), and that no
    File Cache is /home (SharedFileCacheNotHomeValidator)."""
    given = storage.mount_dir
    if is_unresolved(given):
        return []
    problems = check_keyed(
        "SharedStorage[]/MountDir",
        given,
        Code.PC_MOUNT_DIR,
        "mount_dir",
        what="the mount directory",
        remedy="write an absolute path without '.', '..' or an empty part, e.g. `/fsx`",
    )
    if problems:
        return problems
    place = _absolute(given)
    if place in mount_dirs().reserved:
        message = f"{place} is used by the operating system or ParallelCluster, and nodes cannot start without it"
    elif place == "/NONE":
        message = "NONE is ParallelCluster's keyword for no directory"
    elif place == "/home" and storage.kind == StorageKind.FILE_CACHE:
        message = "a File Cache cannot be /home"
    else:
        return []
    return [
        storage.wrong(
            "mount_dir",
            Code.PC_MOUNT_DIR,
            message,
            "write another directory, e.g. `/fsx` or `/apps`",
            allowed=f"any except {', '.join(mount_dirs().reserved)}",
        )
    ]


@rule
def check_scratch_dirs(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check the format of the mount directories of local disks."""
    for disk in _local_disks(cluster):
        yield from check_keyed(
            "HeadNode/LocalStorage/EphemeralVolume/MountDir",
            disk.mount_dir,
            Code.PC_MOUNT_DIR,
            *disk.path,
            what="the mount directory",
            remedy="write an absolute path without '.', '..' or an empty part, e.g. `/local_scratch`",
        )


@rule
def check_overlaps(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that no mount directory is equal to or below another.

    (DuplicateMountDirValidator, OverlappingMountDirValidator.) Stricter: ParallelCluster 3.16.1 passes names instead
    of directories to the second, which then finds nothing, and only warns about shared storage at the mount directory
    of local disks. One hides the other. Local disks can have the same mount directory on many nodes.
    """
    known = [storage for storage in cluster.shared_storage if not is_unresolved(storage.mount_dir)]
    shared = [(storage, _absolute(storage.mount_dir)) for storage in known]
    for place, count in repeated(place for _, place in shared).items():
        names = [storage.name for storage, where in shared if where == place]
        yield Problem(
            code=Code.PC_MOUNT_OVERLAP,
            message=f"{count} shared storages are mounted at {place}: {', '.join(map(repr, names))}",
            remedy="give each a unique directory",
            path=("shared_storage", names[-1], "mount_dir"),
            value=place,
        )
    for index, (storage, place) in enumerate(shared):
        for other, where in shared[:index]:
            if _nested(place, where):
                yield _within(place, where, storage, f"shared storage {other.name!r}")
        for disk in _local_disks(cluster):
            if _nested(place, disk.mount_dir) or place == disk.mount_dir:
                yield _within(place, disk.mount_dir, storage, disk.owner)


def _local_disks(cluster: PlacedParallelCluster) -> Iterator[_LocalDisk]:
    """Local disks of the head node and the queues, one for each mount directory and kind of node."""
    head = cluster.head_node
    if head.scratch_mount_dir is not None or _has_disks(head.instance_type):
        yield _LocalDisk(
            mount_dir=_absolute(head.scratch_mount_dir or mount_dirs().scratch),
            path=("head_node", "scratch_mount_dir"),
            owner="the local disks of the head node",
        )
    for queue in cluster.queues:
        types = [name for resource in queue.compute_resources for name in resource.types]
        if queue.scratch_mount_dir is not None or any(map(_has_disks, types)):
            yield _LocalDisk(
                mount_dir=_absolute(queue.scratch_mount_dir or mount_dirs().scratch),
                path=("queues", queue.name, "scratch_mount_dir"),
                owner=f"the local disks of queue {queue.name!r}",
            )


def _has_disks(name: str) -> bool:
    facts = None if is_unresolved(name) else ec2_facts_of(name)
    return facts is not None and facts.instance_store_gb > 0


def _absolute(place: str) -> str:
    return place if is_unresolved(place) or place.startswith("/") else f"/{place}"


def _nested(one: str, other: str) -> bool:
    return one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _within(place: str, other: str, storage: SharedStorage, owner: str) -> Problem:
    return Problem(
        code=Code.PC_MOUNT_OVERLAP,
        message=f"{place} and {other}, the mount directory of {owner}, hide each other",
        remedy="mount them at separate directories, e.g. `/fsx` and `/local_scratch`",
        path=("shared_storage", storage.name, "mount_dir"),
        value=place,
    )


NOT_KNOWN = "${Token[NOT-KNOWN]}"
"""Looks like a CDK token, which every rule skips."""


def read_settings(storage: SharedStorage) -> Mapping[str, Any]:
    """Return `storage.section` with numbers and booleans in place of their text, which the schema also accepts.

    A value of a wrong type, which the schema rule reports, and one that CloudFormation resolves are `NOT_KNOWN`.
    """
    section = schema_at(f"SharedStorage[]/{STORAGE_SECTIONS[storage.kind].section}")
    keys = section.keys if section is not None else {}
    return {name: _read(value, keys[name]) if name in keys else value for name, value in storage.section.items()}


def _read(value: Any, key: SchemaKey) -> Any:
    if is_known_later(value):
        return NOT_KNOWN
    if key.many or key.kind in (SECTION, "any"):
        return value
    try:
        return read_value(value, key.kind)
    except WrongTypeError:
        return NOT_KNOWN
