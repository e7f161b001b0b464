"""What the FSx for OpenZFS API refuses of a file system and of its volumes, reported before anything is deployed."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from llm_fleet.catalog.fsx import open_zfs_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import (
    check_backups,
    check_choice,
    check_compression,
    check_daily_time,
    check_weekly_time,
    nearest_of,
    words,
)
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.open_zfs import Backups, OpenZfsSpec, OpenZfsVolumeSpec


def check_open_zfs(spec: OpenZfsSpec) -> list[Problem]:
    """Return everything that FSx would refuse of `spec`, by the attribute names of `OpenZfsSpec`."""
    limits, backups = open_zfs_limits(), spec.backups or Backups()
    return [
        *check_choice(
            spec.deployment_type,
            tuple(limits.throughputs),
            code=Code.OPEN_ZFS_TYPE,
            name="deployment_type",
            what="llm-fleet makes no OpenZFS file system of type",
        ),
        *_check_capacity(spec),
        *_check_throughput(spec),
        *_check_iops(spec),
        *_check_record_size(spec),
        *check_compression(spec.compression, limits.compressions),
        *check_backups(backups.retention_days, None, longest=limits.backup_retention_days, owner="OpenZFS"),
        *check_daily_time(backups.start_time, "backups", "start_time"),
        *check_weekly_time(spec.maintenance_start_time, "maintenance_start_time"),
    ]


def _check_capacity(spec: OpenZfsSpec) -> Iterator[Problem]:
    value = spec.storage_capacity_gib
    least, most = open_zfs_limits().storage_capacity_gib
    if not is_unresolved(value) and not least <= value <= most:
        yield spec.wrong(
            "storage_capacity_gib",
            Code.OPEN_ZFS_CAPACITY,
            f"OpenZFS is not sold in {value} GiB",
            f"take {least if value < least else most} GiB",
            allowed=f"{least} to {most} GiB",
        )


def _check_throughput(spec: OpenZfsSpec) -> Iterator[Problem]:
    value = spec.throughput_capacity
    steps = open_zfs_limits().throughputs.get(spec.deployment_type)
    if value is not None and steps is not None and not is_unresolved(value) and not steps.accepts(value):
        yield spec.wrong(
            "throughput_capacity",
            Code.OPEN_ZFS_THROUGHPUT,
            f"{spec.deployment_type} is not sold with {value} MB/s",
            nearest_of(*steps.nearest(value), "MB/s"),
            allowed=steps.describe("MB/s"),
        )


def _check_iops(spec: OpenZfsSpec) -> Iterator[Problem]:
    value, capacity = spec.disk_iops, spec.storage_capacity_gib
    if value is None or is_unresolved([value, capacity]):
        return
    included = capacity * open_zfs_limits().iops_per_gib
    if value < included:
        yield spec.wrong(
            "disk_iops",
            Code.OPEN_ZFS_OPTION,
            f"{capacity} GiB come with {included} disk IOPS already",
            "leave it out",
            allowed=f"{included} or more",
        )


def _check_record_size(spec: OpenZfsSpec) -> Iterator[Problem]:
    value, sizes = spec.record_size_kib, open_zfs_limits().record_sizes_kib
    if value is not None and not is_unresolved(value) and value not in sizes:
        yield spec.wrong(
            "record_size_kib",
            Code.OPEN_ZFS_OPTION,
            f"there is no record size of {value} KiB",
            "leave it out for 128 KiB",
            allowed=f"{words(sizes)} KiB",
        )


def check_volume(
    volume: OpenZfsVolumeSpec,
    name: str,
    *,
    capacity_gib: int,
    taken: Mapping[str, str] = MappingProxyType({}),
) -> list[Problem]:
    """Return what is wrong with `volume`, which is called `name`, by its attributes.

    `capacity_gib`: of its file system. `taken`: names that it cannot have, each with why.
    """
    return [*_check_name(name), *_check_taken(name, taken), *_check_quota(volume.quota_gib, capacity_gib)]


def _check_name(name: str) -> Iterator[Problem]:
    """The name ends the path that clients mount, so that it holds what such a path may (`VolumePath` of the API)."""
    limits = open_zfs_limits()
    longest = limits.volume_name_length
    if is_unresolved(name) or (re.fullmatch(limits.volume_name, name, re.ASCII) and len(name) <= longest):
        return
    mended = re.sub(r"[^A-Za-z0-9_.:-]+", "-", name).lstrip(".:-")[:longest]
    yield Problem(
        code=Code.OPEN_ZFS_VOLUME_NAME,
        path=("name",),
        value=name,
        message="this is no name of an OpenZFS volume",
        allowed=f"1 to {longest} letters, digits and _ . : -, of which the first is a letter, a digit or _",
        remedy=f"write {mended!r}" if mended else "write a name such as 'apps'",
    )


def _check_taken(name: str, taken: Mapping[str, str]) -> Iterator[Problem]:
    if not is_unresolved(name) and name in taken:
        yield Problem(
            code=Code.OPEN_ZFS_VOLUME_NAME,
            path=("name",),
            value=name,
            message=taken[name],
            remedy="give the volume another name",
        )


def _check_quota(quota: int | None, capacity: int) -> Iterator[Problem]:
    """Stricter than FSx, which takes a quota that is larger than the file system, and thus limits nothing."""
    if quota is None or is_unresolved([quota, capacity]) or 1 <= quota <= capacity:
        return
    small = quota < 1
    yield Problem(
        code=Code.OPEN_ZFS_QUOTA,
        path=("quota_gib",),
        value=quota,
        message="nothing could be written to this volume"
        if small
        else f"a volume never grows to {quota} GiB in a file system of {capacity} GiB",
        allowed=f"1 to {capacity} GiB",
        remedy="leave it out for no limit but the file system's own"
        if small
        else f"take {capacity} GiB or less, or a larger file system",
    )
