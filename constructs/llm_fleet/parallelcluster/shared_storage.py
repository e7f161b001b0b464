"""A file system that all nodes mount."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.check import check_shared_storage
from llm_fleet.rules.parallelcluster.storage_arguments import check_storage_settings
from llm_fleet.rules.parallelcluster.terms import StorageKind
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.storage.file_systems import VolumeToMount


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStorage:
    """A file system that all nodes mount (`SharedStorage[]`).

    `lustre`, `open_zfs`, `ontap`, `efs`, `ebs` and `file_cache` mount one that exists, which outlives the cluster and
    can be mounted and unmounted while jobs run. `managed_…` ones are ParallelCluster's: their settings can hardly be
    changed, and their updates stop nodes. Each raises `FleetError` at once on what cannot be.
    """

    name: str
    """1 to 30 characters. It cannot be changed later."""
    kind: StorageKind
    """Which file system it is."""
    mount_dir: str
    """Where nodes mount it, e.g. `/fsx`; neither above nor below another mount. /home can never be changed later."""
    existing_id: str | None = None
    """The id of one that exists. Default: ParallelCluster makes one from `settings`."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The section of its kind in ParallelCluster's own keys, e.g. of `FsxLustreSettings`; without the id."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        raise_problems(check_shared_storage(self), subject=f"SharedStorage {self.name}")

    @classmethod
    def lustre(cls, name: str, *, mount_dir: str = "/fsx", file_system_id: str) -> "SharedStorage":
        """Return an FSx for Lustre that exists, e.g. `LustreFileSystem.file_system_id`."""
        return cls(name=name, kind=StorageKind.FSX_LUSTRE, mount_dir=mount_dir, existing_id=file_system_id)

    @classmethod
    def open_zfs(
        cls,
        name: str,
        *,
        mount_dir: str = "/home",
        volume_id: str | None = None,
        volume: VolumeToMount | None = None,
    ) -> "SharedStorage":
        """Return a volume of an FSx for OpenZFS that exists: by its id (`fsvol-…`), or the construct that knows it.

        E.g. `OpenZfsFileSystem.add_volume(…)`; CloudFormation then deletes the cluster before the volume.
        """
        of_construct = None if volume is None else volume.volume_id
        told = [known for known in (volume_id, of_construct) if known is not None]
        raise_problems(_one_volume(len(told)), subject=f"SharedStorage {name}")
        return cls(name=name, kind=StorageKind.FSX_OPEN_ZFS, mount_dir=mount_dir, existing_id=told[0])

    @classmethod
    def ontap(cls, name: str, *, mount_dir: str, volume_id: str) -> "SharedStorage":
        """Return a volume (`fsvol-…`) of an FSx for NetApp ONTAP that exists."""
        return cls(name=name, kind=StorageKind.FSX_ONTAP, mount_dir=mount_dir, existing_id=volume_id)

    @classmethod
    def file_cache(cls, name: str, *, mount_dir: str, file_cache_id: str) -> "SharedStorage":
        """Return an Amazon File Cache (`fc-…`) that exists. It cannot be /home."""
        return cls(name=name, kind=StorageKind.FILE_CACHE, mount_dir=mount_dir, existing_id=file_cache_id)

    @classmethod
    def efs(
        cls,
        name: str,
        *,
        mount_dir: str,
        file_system_id: str,
        access_point_id: str | None = None,
        encryption_in_transit: bool = True,
        iam_authorization: bool = False,
    ) -> "SharedStorage":
        """Return an EFS that exists.

        It is encrypted on the way unless told otherwise, which ParallelCluster does not do by itself. An access point
        and `iam_authorization` need that.
        """
        settings: dict[str, Any] = {"EncryptionInTransit": encryption_in_transit, "IamAuthorization": iam_authorization}
        if access_point_id is not None:
            settings["AccessPointId"] = access_point_id
        return cls(name=name, kind=StorageKind.EFS, mount_dir=mount_dir, existing_id=file_system_id, settings=settings)

    @classmethod
    def ebs(cls, name: str, *, mount_dir: str, volume_id: str) -> "SharedStorage":
        """Return an EBS volume that exists, which the head node shares over NFS."""
        return cls(name=name, kind=StorageKind.EBS, mount_dir=mount_dir, existing_id=volume_id)

    @classmethod
    def managed_lustre(
        cls,
        name: str,
        *,
        mount_dir: str = "/fsx",
        capacity_gib: int,
        throughput_mb_s_per_tib: int | None = 250,
        deployment_type: Literal["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"] = "PERSISTENT_2",
        compression: bool = True,
        retain: bool = True,
        settings: Mapping[str, Any] | None = None,
    ) -> "SharedStorage":
        """Return an FSx for Lustre that ParallelCluster makes: 1200 GiB or a multiple of 2400.

        `LustreFileSystem` with `lustre` is better: it can grow, and has EFA and metadata IOPS. PERSISTENT_2 with 250
        MB/s for each TiB by default; a scratch one has no throughput (`None`). `compression` is LZ4's, which by AWS's
        documents does not slow it down. It is kept with the data when the cluster goes, unless `retain` is off.
        `settings` are further keys of `FsxLustreSettings`.
        """
        chosen: dict[str, Any] = {
            "StorageCapacity": capacity_gib,
            "DeploymentType": deployment_type,
            "DeletionPolicy": _deletion_policy(retain),
        }
        if compression:
            chosen["DataCompressionType"] = "LZ4"
        if throughput_mb_s_per_tib is not None:
            chosen["PerUnitStorageThroughput"] = throughput_mb_s_per_tib
        return cls(
            name=name, kind=StorageKind.FSX_LUSTRE, mount_dir=mount_dir, settings=_joined(name, chosen, settings)
        )

    @classmethod
    def managed_efs(
        cls, name: str, *, mount_dir: str, retain: bool = True, settings: Mapping[str, Any] | None = None
    ) -> "SharedStorage":
        """Return an EFS that ParallelCluster makes, encrypted at rest and on the way.

        It is kept when the cluster goes, unless `retain` is off. `settings` are further keys of `EfsSettings`.
        """
        chosen = {"Encrypted": True, "EncryptionInTransit": True, "DeletionPolicy": _deletion_policy(retain)}
        return cls(name=name, kind=StorageKind.EFS, mount_dir=mount_dir, settings=_joined(name, chosen, settings))

    @classmethod
    def managed_ebs(
        cls,
        name: str,
        *,
        mount_dir: str,
        size_gib: int,
        volume_type: str = "gp3",
        retain: bool = True,
        settings: Mapping[str, Any] | None = None,
    ) -> "SharedStorage":
        """Return an encrypted EBS volume that ParallelCluster makes and the head node shares over NFS.

        For /apps, not for training data: all nodes share the head node's network. It is kept when the cluster goes,
        unless `retain` is off. `settings` are further keys of `EbsSettings`.
        """
        chosen: dict[str, Any] = {
            "VolumeType": volume_type,
            "Size": size_gib,
            "Encrypted": True,
            "DeletionPolicy": _deletion_policy(retain),
        }
        return cls(name=name, kind=StorageKind.EBS, mount_dir=mount_dir, settings=_joined(name, chosen, settings))


def _one_volume(told: int) -> list[Problem]:
    if told == 1:
        return []
    return [
        Problem(
            code=Code.PC_OPEN_ZFS_VOLUME,
            path=("volume_id",),
            message="the volume is told twice, by its id and by a construct" if told else "nobody told which volume",
            remedy="give either volume_id or volume, one that knows its id",
        )
    ]


def _joined(name: str, chosen: Mapping[str, Any], settings: Mapping[str, Any] | None) -> dict[str, Any]:
    raise_problems(check_storage_settings(settings or {}), subject=f"SharedStorage {name}")
    return {**chosen, **(settings or {})}


def _deletion_policy(retain: bool) -> str:
    return "Retain" if retain else "Delete"
