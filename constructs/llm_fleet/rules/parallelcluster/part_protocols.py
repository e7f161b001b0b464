"""What the rules of ParallelCluster ask of the parts of nodes and of a cluster; see `protocols`."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from llm_fleet.rules.parallelcluster.terms import QueueUpdateStrategy, ScalingStrategy, StorageKind


class RootVolumeLike(Protocol):
    """The root volume of a node (`LocalStorage/RootVolume`)."""

    @property
    def size_gib(self) -> int | None:
        """`Size`."""
        ...

    @property
    def volume_type(self) -> str | None:
        """`VolumeType`, e.g. `gp3`."""
        ...

    @property
    def iops(self) -> int | None:
        """`Iops`."""
        ...

    @property
    def throughput_mib_s(self) -> int | None:
        """`Throughput`."""
        ...

    @property
    def encrypted(self) -> bool | None:
        """`Encrypted`."""
        ...


class PlacementGroupLike(Protocol):
    """Whether instances are placed close together (`Networking/PlacementGroup`)."""

    @property
    def enabled(self) -> bool:
        """`Enabled`."""
        ...

    @property
    def name(self) -> str | None:
        """`Name` of an existing group; ParallelCluster makes one when it is enabled without."""
        ...


class CapacityReservationLike(Protocol):
    """Reserved capacity (`CapacityReservationTarget`); exactly one of the two."""

    @property
    def reservation_id(self) -> str | None:
        """`CapacityReservationId`, of an ODCR or a Capacity Block."""
        ...

    @property
    def resource_group_arn(self) -> str | None:
        """`CapacityReservationResourceGroupArn`."""
        ...


class DcvLike(Protocol):
    """Remote desktop (`Dcv`), enabled where it is given."""

    @property
    def port(self) -> int | None:
        """`Port`."""
        ...

    @property
    def allowed_ips(self) -> str | None:
        """`AllowedIps`, a CIDR or prefix list; `None` lets nobody in."""
        ...


class SharedStorageLike(Protocol):
    """A file system that all nodes mount (`SharedStorage[]`)."""

    @property
    def name(self) -> str:
        """`Name`."""
        ...

    @property
    def kind(self) -> StorageKind:
        """`StorageType`."""
        ...

    @property
    def mount_dir(self) -> str:
        """`MountDir`."""
        ...

    @property
    def existing_id(self) -> str | None:
        """`FileSystemId`, `VolumeId` or `FileCacheId` of one that exists; `None` lets ParallelCluster make it."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """The section of its kind, e.g. `FsxLustreSettings`, in ParallelCluster's own keys; without the id."""
        ...


class AccountingLike(Protocol):
    """Slurm's accounting outside the cluster: a database (`Database`) or a slurmdbd (`ExternalSlurmdbd`)."""

    @property
    def database_uri(self) -> str | None:
        """`Database/Uri`, host and port; `None` with `slurmdbd_host`."""
        ...

    @property
    def user_name(self) -> str | None:
        """`Database/UserName`."""
        ...

    @property
    def password_secret_arn(self) -> str | None:
        """`Database/PasswordSecretArn`."""
        ...

    @property
    def database_name(self) -> str | None:
        """`Database/DatabaseName`; `None` is one named by the cluster."""
        ...

    @property
    def slurmdbd_host(self) -> str | None:
        """`ExternalSlurmdbd/Host`."""
        ...

    @property
    def slurmdbd_port(self) -> int | None:
        """`ExternalSlurmdbd/Port`."""
        ...

    @property
    def munge_key_secret_arn(self) -> str | None:
        """`MungeKeySecretArn`, which an external slurmdbd needs."""
        ...


class SlurmSettingsLike(Protocol):
    """Settings of Slurm (`SlurmSettings`) and of scaling."""

    @property
    def scaledown_idletime_minutes(self) -> int | None:
        """`ScaledownIdletime`; -1 never scales down."""
        ...

    @property
    def scaling_strategy(self) -> ScalingStrategy:
        """`Scheduling/ScalingStrategy`."""
        ...

    @property
    def queue_update_strategy(self) -> QueueUpdateStrategy:
        """`QueueUpdateStrategy`."""
        ...

    @property
    def memory_based_scheduling(self) -> bool:
        """`EnableMemoryBasedScheduling`."""
        ...

    @property
    def custom_settings(self) -> Sequence[Mapping[str, Any]]:
        """`CustomSlurmSettings`."""
        ...

    @property
    def custom_settings_file(self) -> str | None:
        """`CustomSlurmSettingsIncludeFile`."""
        ...

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Keys of ParallelCluster that have no attribute here, in its own spelling, merged in at this place."""
        ...
