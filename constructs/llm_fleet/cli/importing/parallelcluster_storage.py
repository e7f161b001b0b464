"""ParallelCluster's shared storage and buckets, as the fleet file has them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from llm_fleet.cli.importing.parallelcluster_values import Section, amount, number, told, truth, unless
from llm_fleet.fleet_file.check_parallelcluster import FSX


class Buckets:
    """What nodes may read and write, of all kinds of nodes together."""

    def __init__(self) -> None:
        self._reads: dict[str, None] = {}
        self._writes: dict[str, None] = {}

    def add(self, section: Section) -> None:
        """Take the `S3Access` of one kind of nodes; the fleet's nodes all have the same."""
        for access in section.items("Iam/S3Access"):
            given = cast("dict[str, Any]", access) if isinstance(access, dict) else {}
            name = str(given.get("BucketName", ""))
            if not name or "*" in name:
                section.notes.left_out(
                    f"{section.say('Iam/S3Access')} {name}: a fleet file names each bucket that nodes may use"
                )
                continue
            if given.get("KeyName"):
                section.notes.chosen(f"{section.say('Iam/S3Access')} {name}: the whole bucket, not {given['KeyName']}")
            bucket = f"s3://{name}"
            (self._writes if truth(given.get("EnableWriteAccess")) else self._reads)[bucket] = None

    @property
    def keys(self) -> dict[str, Any]:
        """The keys `reads` and `writes` of the cluster."""
        reads = [name for name in self._reads if name not in self._writes]
        return {key: names for key, names in (("reads", reads), ("writes", list(self._writes))) if names}


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


_SECTIONS = {
    "Ebs": ("EbsSettings", "VolumeId"),
    "Efs": ("EfsSettings", "FileSystemId"),
    "FsxLustre": ("FsxLustreSettings", "FileSystemId"),
    "FsxOpenZfs": ("FsxOpenZfsSettings", "VolumeId"),
    "FsxOntap": ("FsxOntapSettings", "VolumeId"),
    "FileCache": ("FileCacheSettings", "FileCacheId"),
}
"""By type: its section, and the key of the id in it."""


@dataclass(slots=True)
class Storages:
    """What becomes of the shared storage."""

    fleet: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the fleet's `storage`."""
    cluster: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the cluster's `storage`."""


def shared_storage(sections: Iterable[Section]) -> Storages:
    """Return the storages: the first Lustre that ParallelCluster would make becomes the fleet's, which outlives it."""
    told_of = Storages()
    named = [(section, str(section.take("Name"))) for section in sections]
    for section, name in named:
        kind, mount = section.take("StorageType"), section.take("MountDir")
        settings_key, id_key = _SECTIONS.get(str(kind), ("", ""))
        id = section.take(f"{settings_key}/{id_key}") if settings_key else None
        settings: Any = section.take(settings_key) if settings_key else None
        settings = {} if settings is None else settings
        is_taken = any(other == FSX for each, other in named if each is not section)
        if kind == "FsxLustre" and id is None and FSX not in told_of.fleet and not is_taken:
            lustre = fleet_lustre(settings, mount, section)
            if lustre is not None:
                told_of.fleet[FSX] = lustre
                section.leave_rest(f"a storage of type {kind} does not have it")
                continue
        section.leave_rest(f"a storage of type {kind} does not have it")
        path = mount if not isinstance(mount, str) or mount.startswith("/") else f"/{mount}"
        entry = told(type=kind, mount=path, id=id, settings=settings)
        told_of.cluster[name] = entry
        if id is None and "DeletionPolicy" not in settings:
            section.notes.chosen(f"{section.where} is kept when the cluster goes: it has no DeletionPolicy")
    return told_of
