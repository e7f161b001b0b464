"""Where shared storage and local disks are mounted."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.catalog.parallelcluster_schema import mount_dirs
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.keyed_value import check_keyed
from llm_fleet.rules.parallelcluster.terms import StorageKind
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster import SharedStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class _LocalDisk:
    mount_dir: str
    path: tuple[PathPart, ...]
    owner: str


def check_mount_dir(storage: SharedStorage) -> list[Problem]:
    """Check one mount directory: its form, that it is not the system's (SharedStorageMountDirValidator), and that no
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
        remedy="write an absolute path without '.', '..' or an empty part, e.g. '/fsx'",
    )
    if problems:
        return problems
    place = _absolute(given)
    if place in mount_dirs().reserved:
        message = f"{place} is the system's or ParallelCluster's own, and nodes do not start without it"
    elif place == "/NONE":
        message = "NONE is a word of ParallelCluster's for no directory"
    elif place == "/home" and storage.kind == StorageKind.FILE_CACHE:
        message = "a File Cache cannot be /home"
    else:
        return []
    return [
        Problem(
            code=Code.PC_MOUNT_DIR,
            message=message,
            remedy="take a directory of its own, e.g. '/fsx' or '/apps'",
            path=("mount_dir",),
            value=given,
            allowed=f"none of {', '.join(mount_dirs().reserved)}",
        )
    ]


def check_scratch_dirs(cluster: ClusterShape) -> list[Problem]:
    """Check the form of the places of local disks."""
    return [
        problem
        for disk in _local_disks(cluster)
        for problem in check_keyed(
            "HeadNode/LocalStorage/EphemeralVolume/MountDir",
            disk.mount_dir,
            Code.PC_MOUNT_DIR,
            *disk.path,
            what="the mount directory",
            remedy="write an absolute path without '.', '..' or an empty part, e.g. '/local_scratch'",
        )
    ]


def check_overlaps(cluster: ClusterShape) -> list[Problem]:
    """Check that no directory is mounted over or below another.

    (DuplicateMountDirValidator, OverlappingMountDirValidator.) Stricter: ParallelCluster 3.16.1 hands names instead of
    directories to the second, which then finds nothing, and a shared storage at the very place of local disks is a
    warning to it. One hides the other. Local disks may be mounted at one place on many nodes.
    """
    shared = [
        (storage, _absolute(storage.mount_dir))
        for storage in cluster.shared_storage
        if not is_unresolved(storage.mount_dir)
    ]
    problems = [
        _twice(place, [storage.name for storage, where in shared if where == place])
        for place, count in Counter(where for _, where in shared).items()
        if count > 1
    ]
    for index, (storage, place) in enumerate(shared):
        path = ("shared_storage", storage.name, "mount_dir")
        problems += [
            _within(place, where, path, f"shared storage {other.name!r}")
            for other, where in shared[:index]
            if _nested(place, where)
        ]
        problems += [
            _within(place, disk.mount_dir, path, disk.owner)
            for disk in _local_disks(cluster)
            if _nested(place, disk.mount_dir) or place == disk.mount_dir
        ]
    return problems


def _local_disks(cluster: ClusterShape) -> Iterator[_LocalDisk]:
    """Local disks of the head node and the queues, one for each place on each kind of node that has any."""
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


def _twice(place: str, names: list[str]) -> Problem:
    return Problem(
        code=Code.PC_MOUNT_OVERLAP,
        message=f"{len(names)} shared storages are mounted at {place}: {', '.join(map(repr, names))}",
        remedy="give each a directory of its own",
        path=("shared_storage", names[-1], "mount_dir"),
        value=place,
    )


def _within(place: str, other: str, path: tuple[PathPart, ...], owner: str) -> Problem:
    return Problem(
        code=Code.PC_MOUNT_OVERLAP,
        message=f"{place} and {other}, the place of {owner}, hide each other",
        remedy="mount them side by side, e.g. at '/fsx' and '/local_scratch'",
        path=path,
        value=place,
    )
