"""Rules of FSx file systems: common settings, mounts of existing ones, and FSx for OpenZFS."""

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
"""The required prefix of FSx's log groups."""
MADE_UP = "(made up by CloudFormation)"
"""The value in messages for a log group without a name."""


@rule
def check_has_network(network: object | None, kind: str) -> Iterator[Problem]:
    """Return a problem when a file system has no network; not every user has a type checker that would report it."""
    if network is None:
        yield Problem(
            code=Code.MOUNT_WITHOUT_VPC,
            path=("network",),
            message=f"`network` is required for {kind}",
            remedy="set it to a FleetNetwork, or to FleetNetwork.from_attributes(…)",
        )


def words(values: Iterable[object]) -> str:
    """Return `values` as text: `a, b or c`."""
    texts = [str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def nearest_of(below: int | None, above: int | None, unit: str) -> str:
    """Return the remedy with the nearest allowed amounts."""
    return f"write {words(f'{amount} {unit}' for amount in (below, above) if amount is not None)}"


@rule
def check_choice(value: str | None, allowed: Sequence[str], *, code: Code, name: str, what: str) -> Iterator[Problem]:
    """Return a problem unless `value` is one of `allowed`, `None` or a token. The message is `what` and the value."""
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
    """Return a problem unless the service supports this compression."""
    return check_choice(
        value, allowed, code=Code.FILE_SYSTEM_COMPRESSION, name="compression", what="unknown compression"
    )


def check_daily_time(value: str | None, *path: str) -> list[Problem]:
    """Return a problem unless `value` is a time of day in FSx's format, `HH:MM`."""
    return _check_time(value, path, _DAILY, "HH:MM in UTC, e.g. 05:00", "a time of day")


def check_weekly_time(value: str | None, name: str) -> list[Problem]:
    """Return a problem unless `value` is a time of the week in FSx's format, `d:HH:MM`."""
    return _check_time(value, (name,), _WEEKLY, "d:HH:MM in UTC with 1 for Monday, e.g. 7:03:00", "a time of the week")


@rule
def check_backups(days: int | None, copy_tags: bool | None, *, longest: int, owner: str) -> Iterator[Problem]:
    """Return what is wrong with automatic backups kept for `days`; with `longest` 0, backups are not supported."""
    if days is not None and not is_unresolved(days) and not 0 <= days <= longest:
        never = longest == 0
        yield Problem(
            code=Code.FILE_SYSTEM_BACKUP,
            path=("backups", "retention_days"),
            value=days,
            message=f"{owner} file systems do not support backups"
            if never
            else f"backups must be kept for at most {longest} days",
            allowed="0" if never else f"0 (none) to {longest} days",
            remedy="remove it, or use a persistent deployment type" if never else f"write at most {longest}",
        )
    if longest == 0 and copy_tags is True:
        yield Problem(
            code=Code.FILE_SYSTEM_BACKUP,
            path=("backups", "copy_tags"),
            value=copy_tags,
            message=f"`copy_tags` has no effect: {owner} file systems do not support backups",
            remedy="remove it",
        )


@rule
def check_log_group_name(name: str | None) -> Iterator[Problem]:
    """Return a problem unless `name` begins with the prefix that FSx requires."""
    if name is not None and not is_unresolved(name) and not name.startswith(LOG_GROUP_PREFIX):
        yield Problem(
            code=Code.FILE_SYSTEM_LOG,
            path=("log_group",),
            value=name,
            message="FSx cannot write to a log group with this name",
            allowed=f"a name that begins with {LOG_GROUP_PREFIX}",
            remedy=f"use the name {LOG_GROUP_PREFIX}/{'lustre-events' if name == MADE_UP else name.strip('/')}",
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
            message=f"{value!r} is not {what} in FSx's format",
            allowed=allowed,
            remedy=f"write it as {allowed}",
        )


@rule
def check_mount_source(existing: ExistingLustre | ExistingOpenZfs) -> Iterator[Problem]:
    """Check the id of an existing FSx file system, and its DNS name and mount name by HyperPod's limits."""
    file_system_id = existing.file_system_id
    mount_name = existing.mount_name if isinstance(existing, ExistingLustre) else None
    if not is_unresolved(file_system_id) and not _ID.fullmatch(file_system_id):
        remedy = "write the id as `aws fsx describe-file-systems` shows it, e.g. `fs-0123456789abcdef0`"
        yield _wrong("file_system_id", file_system_id, "the id of the file system", remedy)
    for attribute, value in (("dns_name", existing.dns_name), ("mount_name", mount_name)):
        if value is None or is_unresolved(value):
            continue
        member, what, example = _FIELDS[attribute]
        limit = group_limit(f"InstanceStorageConfigs[].FsxLustreConfig.{member}")
        if not limit.fits(value):
            remedy = f"write it as `aws fsx describe-file-systems` shows it, e.g. `{example}`"
            yield _wrong(attribute, value, what, remedy)


def _wrong(attribute: str, value: str, what: str, remedy: str) -> Problem:
    return Problem(
        code=Code.MOUNT_SOURCE,
        message=f"{what} is invalid",
        remedy=remedy,
        path=(attribute,),
        value=value,
    )


def check_open_zfs(spec: OpenZfsSpec) -> list[Problem]:
    """Return everything that FSx would reject in `spec`, by the attribute names of `OpenZfsSpec`."""
    limits, backups = open_zfs_limits(), spec.backups or Backups()
    return [
        *check_choice(
            spec.deployment_type,
            tuple(limits.throughputs),
            code=Code.OPEN_ZFS_TYPE,
            name="deployment_type",
            what="unknown or unsupported OpenZFS deployment type",
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
            f"OpenZFS file systems must have {least} to {most} GiB",
            f"write {least if value < least else most} GiB",
            allowed=f"{least} to {most} GiB",
        )


def _check_throughput(spec: OpenZfsSpec) -> Iterator[Problem]:
    value = spec.throughput_capacity
    steps = open_zfs_limits().throughputs.get(spec.deployment_type)
    if value is not None and steps is not None and not is_unresolved(value) and not steps.accepts(value):
        yield spec.wrong(
            "throughput_capacity",
            Code.OPEN_ZFS_THROUGHPUT,
            f"{spec.deployment_type} does not support {value} MB/s",
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
            f"{capacity} GiB include {included} disk IOPS, and fewer cannot be set",
            "remove it",
            allowed=f"{included} or more",
        )


def _check_record_size(spec: OpenZfsSpec) -> Iterator[Problem]:
    value, sizes = spec.record_size_kib, open_zfs_limits().record_sizes_kib
    if value is not None and not is_unresolved(value) and value not in sizes:
        yield spec.wrong(
            "record_size_kib",
            Code.OPEN_ZFS_OPTION,
            f"OpenZFS does not support a record size of {value} KiB",
            "remove it to use 128 KiB",
            allowed=f"{words(sizes)} KiB",
        )


def check_volume(
    volume: OpenZfsVolumeSpec,
    name: str,
    *,
    capacity_gib: int,
    taken: Mapping[str, str] = MappingProxyType({}),
) -> list[Problem]:
    """Return what is wrong with the volume `name`, by its attributes.

    `capacity_gib`: of its file system. `taken`: names that it cannot have, with the message for each.
    """
    return [*_check_name(name), *_check_taken(name, taken), *_check_quota(volume.quota_gib, capacity_gib)]


def _check_name(name: str) -> Iterator[Problem]:
    """The name is the end of the path that clients mount, with the same characters (`VolumePath` of the API)."""
    limits = open_zfs_limits()
    longest = limits.volume_name_length
    if is_unresolved(name) or (re.fullmatch(limits.volume_name, name, re.ASCII) and len(name) <= longest):
        return
    repaired = re.sub(r"[^A-Za-z0-9_.:-]+", "-", name).lstrip(".:-")[:longest]
    yield Problem(
        code=Code.OPEN_ZFS_VOLUME_NAME,
        path=("name",),
        value=name,
        message="this is not a valid name of an OpenZFS volume",
        allowed=f"1 to {longest} letters, digits and _ . : -, of which the first is a letter, a digit or _",
        remedy=f"write `{repaired}`" if repaired else "write a name such as `apps`",
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
    """Stricter than FSx, which accepts a quota above the size of the file system, where it has no effect."""
    if quota is None or is_unresolved([quota, capacity]) or 1 <= quota <= capacity:
        return
    small = quota < 1
    yield Problem(
        code=Code.OPEN_ZFS_QUOTA,
        path=("quota_gib",),
        value=quota,
        message="with this quota nothing could be written to the volume"
        if small
        else f"the quota has no effect: the file system has only {capacity} GiB",
        allowed=f"1 to {capacity} GiB",
        remedy="remove it to limit the volume only by the size of the file system"
        if small
        else f"write at most {capacity} GiB, or use a larger file system",
    )
