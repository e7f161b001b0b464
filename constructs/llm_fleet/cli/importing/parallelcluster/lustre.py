"""Turns an FSx for Lustre that ParallelCluster would make into the fleet's own."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.cli.importing.parallelcluster.section import Section
from llm_fleet.cli.importing.parallelcluster.values import amount, number, told, truth, unless

_READ = frozenset(
    {
        "StorageCapacity",
        "DeploymentType",
        "PerUnitStorageThroughput",
        "StorageType",
        "DataCompressionType",
        "DriveCacheType",
        "WeeklyMaintenanceStartTime",
        "AutomaticBackupRetentionDays",
        "DailyAutomaticBackupStartTime",
        "CopyTagsToBackups",
        "ImportPath",
        "DeletionPolicy",
    }
)
"""Keys that the fleet's own file system has too, or does anyhow."""
_SCRATCH = "SCRATCH_2"
"""ParallelCluster's default."""


def fleet_lustre(settings: Any, mount: Any, section: Section) -> dict[str, Any] | None:
    """Return the keys of `storage.fsx`; `None` for one with settings that only ParallelCluster's own can have."""
    if not isinstance(settings, Mapping) or set(settings) - _READ:  # pyright: ignore[reportUnknownArgumentType]
        return None
    given: dict[str, Any] = dict(settings)  # pyright: ignore[reportUnknownArgumentType]
    section.notes.chosen(
        f"{section.where} is `storage.fsx`, which the fleet makes: it outlives the cluster, and its size can grow"
    )
    if "DeletionPolicy" in given:
        section.notes.left_out(f"{section.where}.DeletionPolicy: the fleet's file systems are always kept")
    backups = told(
        keep=amount(unless(number(given.get("AutomaticBackupRetentionDays")), 0), "days"),
        at=given.get("DailyAutomaticBackupStartTime"),
        copy_tags=truth(given.get("CopyTagsToBackups")),
    )
    return told(
        deployment=unless(given.get("DeploymentType", _SCRATCH), "PERSISTENT_2"),
        storage=unless(given.get("StorageType"), "SSD"),
        size=amount(given.get("StorageCapacity"), "GiB"),
        throughput=amount(given.get("PerUnitStorageThroughput"), "MB/s/TiB"),
        compression="NONE" if "DataCompressionType" not in given else None,
        drive_cache=given.get("DriveCacheType"),
        maintenance=given.get("WeeklyMaintenanceStartTime"),
        backups=backups,
        import_=given.get("ImportPath"),
        mount=unless(mount, "/fsx"),
    )
