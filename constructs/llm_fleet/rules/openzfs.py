"""What the FSx for OpenZFS API refuses, told before anything is deployed."""

from dataclasses import dataclass

from llm_fleet.catalog.openzfs import open_zfs_limits
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

_CHOSEN_THROUGHPUT = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenZfsSettings:
    """What may be said of an OpenZFS file system; the fleet file and the construct both fill this in."""

    deployment_type: str = "SINGLE_AZ_HA_2"
    """One of the single-AZ types: nodes stand in one AZ, and so must their home directories. With a standby server,
    because a lost /home stops every job; the second generation has a read cache."""
    storage_capacity_gib: int = 512
    """GiB."""
    throughput_capacity: int | None = None
    """MB/s. Default: 160, or the next that the deployment type has."""
    disk_iops: int | None = None
    """Provisioned disk IOPS. Default: 3 for each GiB, which come with it."""
    compression: str = "ZSTD"
    """`ZSTD`, `LZ4` or `NONE`. Home directories are text and code: they shrink well, and are seldom the bottleneck."""
    record_size_kib: int | None = None
    """Default: 128, chosen by the service."""
    backup_retention_days: int = 30
    """Days that automatic backups are kept, 0 for none."""
    backup_start_time: str | None = None
    """`HH:MM`, UTC. Default: the service picks one."""
    maintenance_start_time: str | None = None
    """`d:HH:MM`, UTC, 1 is Monday. Default: the service picks one."""

    @property
    def effective_throughput_capacity(self) -> int:
        """MB/s to ask for."""
        if self.throughput_capacity is not None:
            return self.throughput_capacity
        steps = open_zfs_limits().throughputs.get(self.deployment_type)
        if steps is None or steps.accepts(_CHOSEN_THROUGHPUT):
            return _CHOSEN_THROUGHPUT
        return steps.nearest(_CHOSEN_THROUGHPUT)[1] or steps.smallest


def check_open_zfs(settings: OpenZfsSettings) -> list[Problem]:
    """Return everything that FSx would refuse of `settings`, by the attribute names of `OpenZfsSettings`."""
    limits = open_zfs_limits()
    return [
        *check_choice(
            settings.deployment_type,
            tuple(limits.throughputs),
            code=Code.OPEN_ZFS_TYPE,
            name="deployment_type",
            what="llm-fleet makes no OpenZFS file system of type",
        ),
        *_check_capacity(settings),
        *_check_throughput(settings),
        *_check_iops(settings),
        *_check_record_size(settings),
        *check_compression(settings.compression, limits.compressions),
        *check_backups(settings.backup_retention_days, None, longest=limits.backup_retention_days, owner="OpenZFS"),
        *check_daily_time(settings.backup_start_time, "backup_start_time"),
        *check_weekly_time(settings.maintenance_start_time, "maintenance_start_time"),
    ]


def _check_capacity(settings: OpenZfsSettings) -> list[Problem]:
    value = settings.storage_capacity_gib
    least, most = open_zfs_limits().storage_capacity_gib
    if is_unresolved(value) or least <= value <= most:
        return []
    return [
        Problem(
            code=Code.OPEN_ZFS_CAPACITY,
            path=("storage_capacity_gib",),
            value=value,
            message=f"OpenZFS is not sold in {value} GiB",
            allowed=f"{least} to {most} GiB",
            remedy=f"take {least if value < least else most} GiB",
        )
    ]


def _check_throughput(settings: OpenZfsSettings) -> list[Problem]:
    value = settings.throughput_capacity
    steps = open_zfs_limits().throughputs.get(settings.deployment_type)
    if value is None or steps is None or is_unresolved(value) or steps.accepts(value):
        return []
    return [
        Problem(
            code=Code.OPEN_ZFS_THROUGHPUT,
            path=("throughput_capacity",),
            value=value,
            message=f"{settings.deployment_type} is not sold with {value} MB/s",
            allowed=steps.describe("MB/s"),
            remedy=nearest_of(*steps.nearest(value), "MB/s"),
        )
    ]


def _check_iops(settings: OpenZfsSettings) -> list[Problem]:
    value, capacity = settings.disk_iops, settings.storage_capacity_gib
    if value is None or is_unresolved([value, capacity]):
        return []
    included = capacity * open_zfs_limits().iops_per_gib
    if value >= included:
        return []
    return [
        Problem(
            code=Code.OPEN_ZFS_OPTION,
            path=("disk_iops",),
            value=value,
            message=f"{capacity} GiB come with {included} disk IOPS already",
            allowed=f"{included} or more",
            remedy="leave it out",
        )
    ]


def _check_record_size(settings: OpenZfsSettings) -> list[Problem]:
    value, sizes = settings.record_size_kib, open_zfs_limits().record_sizes_kib
    if value is None or is_unresolved(value) or value in sizes:
        return []
    return [
        Problem(
            code=Code.OPEN_ZFS_OPTION,
            path=("record_size_kib",),
            value=value,
            message=f"there is no record size of {value} KiB",
            allowed=f"{words(sizes)} KiB",
            remedy="leave it out for 128 KiB",
        )
    ]
