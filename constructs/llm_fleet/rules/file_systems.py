"""File systems that exist or are made: how they are mounted, and an FSx for OpenZFS."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from llm_fleet.catalog.fsx import open_zfs_limits
from llm_fleet.catalog.hyperpod import group_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.storage import Backups, ExistingLustre, ExistingOpenZfs, OpenZfsSpec, OpenZfsVolumeSpec

_DAILY = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_WEEKLY = re.compile(r"[1-7]:([01]\d|2[0-3]):[0-5]\d")
_ID = re.compile(r"fs-[0-9a-f]{8,17}")
_FIELDS = {
    "dns_name": ("DnsName", "the DNS name", "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"),
    "mount_name": ("MountName", "the mount name", "abcd1234"),
}
LOG_GROUP_PREFIX = "/aws/fsx"
"""The service refuses to log elsewhere."""
MADE_UP = "(made up by CloudFormation)"
"""Stands for the name of a log group that was given none."""


@rule
def check_has_network(network: object | None, kind: str) -> Iterator[Problem]:
    """Return a problem when a file system is to be made without a network, which types forbid, but not every user's."""
    if network is None:
        yield Problem(
            code=Code.MOUNT_WITHOUT_VPC,
            path=("network",),
            message=f"{kind} stands in a VPC, and no network is given",
            remedy="give it a FleetNetwork, or one from FleetNetwork.from_attributes(…)",
        )


def words(values: Iterable[object]) -> str:
    """Return `values` as a reader would list them: `a, b or c`."""
    texts = [str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def nearest_of(below: int | None, above: int | None, unit: str) -> str:
    """Return the remedy that offers the nearest legal amounts."""
    return f"take {words(f'{amount} {unit}' for amount in (below, above) if amount is not None)}"


@rule
def check_choice(value: str | None, allowed: Sequence[str], *, code: Code, name: str, what: str) -> Iterator[Problem]:
    """Return a problem unless `value` is one of `allowed`, `None` or a token. `what` begins the message."""
    if value is not None and not is_unresolved(value) and value not in allowed:
        yield Problem(
            code=code,
            path=(name,),
            value=value,
            message=f"{what} {str(value)!r}",
            allowed=words(allowed),
            remedy=did_you_mean(value, allowed, otherwise=f"write {words(map(repr, map(str, allowed)))}"),
        )


def check_compression(value: str, allowed: Sequence[str]) -> list[Problem]:
    """Return a problem unless the service knows this compression."""
    return check_choice(
        value, allowed, code=Code.FILE_SYSTEM_COMPRESSION, name="compression", what="there is no compression"
    )


def check_daily_time(value: str | None, *path: str) -> list[Problem]:
    """Return a problem unless `value` is a time of day as FSx reads it."""
    return _check_time(value, path, _DAILY, "HH:MM in UTC, e.g. 05:00", "a time of day")


def check_weekly_time(value: str | None, name: str) -> list[Problem]:
    """Return a problem unless `value` is a time of the week as FSx reads it."""
    return _check_time(value, (name,), _WEEKLY, "d:HH:MM in UTC with 1 for Monday, e.g. 7:03:00", "a time of the week")


@rule
def check_backups(days: int | None, copy_tags: bool | None, *, longest: int, owner: str) -> Iterator[Problem]:
    """Return what is wrong with automatic backups kept for `days`; `longest` 0 stands for none possible."""
    if days is not None and not is_unresolved(days) and not 0 <= days <= longest:
        never = longest == 0
        yield Problem(
            code=Code.FILE_SYSTEM_BACKUP,
            path=("backups", "retention_days"),
            value=days,
            message=f"{owner} file systems have no backups" if never else f"backups cannot be kept for {days} days",
            allowed="0" if never else f"0 (none) to {longest} days",
            remedy="leave it out, or use a persistent deployment type" if never else f"take at most {longest}",
        )
    if longest == 0 and copy_tags is True:
        yield Problem(
            code=Code.FILE_SYSTEM_BACKUP,
            path=("backups", "copy_tags"),
            value=copy_tags,
            message=f"{owner} file systems have no backups to copy tags to",
            remedy="leave it out",
        )


@rule
def check_log_group_name(name: str | None) -> Iterator[Problem]:
    """Return a problem unless FSx may log to a log group of this name."""
    if name is not None and not is_unresolved(name) and not name.startswith(LOG_GROUP_PREFIX):
        yield Problem(
            code=Code.FILE_SYSTEM_LOG,
            path=("log_group",),
            value=name,
            message="FSx refuses to log to a log group of this name",
            allowed=f"a name that begins with {LOG_GROUP_PREFIX}",
            remedy=f"name it {LOG_GROUP_PREFIX}/{'lustre-events' if name == MADE_UP else name.strip('/')}",
        )


@rule
def _check_time(
    value: str | None, path: tuple[str, ...], pattern: re.Pattern[str], allowed: str, what: str
) -> Iterator[Problem]:
    if value is not None and not is_unresolved(value) and not pattern.fullmatch(value):
        yield Problem(
            code=Code.FILE_SYSTEM_TIME,
            path=path,
            value=value,
            message=f"{value!r} is not {what} that FSx can read",
            allowed=allowed,
            remedy=f"write it as {allowed}",
        )


@rule
def check_mount_source(existing: ExistingLustre | ExistingOpenZfs) -> Iterator[Problem]:
    """Check the id of an FSx file system that exists, and DNS name and mount name against HyperPod's limits."""
    file_system_id = existing.file_system_id
    mount_name = existing.mount_name if isinstance(existing, ExistingLustre) else None
    if not is_unresolved(file_system_id) and not _ID.fullmatch(file_system_id):
        remedy = "write the id as `aws fsx describe-file-systems` shows it, e.g. 'fs-0123456789abcdef0'"
        yield _wrong("file_system_id", file_system_id, "the id of the file system", remedy)
    for attribute, value in (("dns_name", existing.dns_name), ("mount_name", mount_name)):
        if value is None or is_unresolved(value):
            continue
        member, what, example = _FIELDS[attribute]
        limit = group_limit(f"InstanceStorageConfigs[].FsxLustreConfig.{member}")
        if not limit.fits(value):
            remedy = f"write it as `aws fsx describe-file-systems` shows it, e.g. '{example}'"
            yield _wrong(attribute, value, what, remedy)


def _wrong(attribute: str, value: str, what: str, remedy: str) -> Problem:
    return Problem(
        code=Code.MOUNT_SOURCE,
        message=f"{what} has not the form that FSx gives it",
        remedy=remedy,
        path=(attribute,),
        value=value,
    )


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
    repaired = re.sub(r"[^A-Za-z0-9_.:-]+", "-", name).lstrip(".:-")[:longest]
    yield Problem(
        code=Code.OPEN_ZFS_VOLUME_NAME,
        path=("name",),
        value=name,
        message="this is no name of an OpenZFS volume",
        allowed=f"1 to {longest} letters, digits and _ . : -, of which the first is a letter, a digit or _",
        remedy=f"write {repaired!r}" if repaired else "write a name such as 'apps'",
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
