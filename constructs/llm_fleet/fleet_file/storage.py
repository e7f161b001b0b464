"""The storage of a fleet: its file systems, each with what only a fleet file says of it, and its buckets."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from llm_fleet.spec.buckets import BucketSpec
from llm_fleet.spec.lustre import DataRepository, ExistingLustre, LustreSpec
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.open_zfs import ExistingOpenZfs, OpenZfsSpec, OpenZfsVolumeSpec
from llm_fleet.spec.slurm_database import SlurmDatabaseSpec


class FleetLustre(LustreSpec):
    """An FSx for Lustre file system that every node of the fleet mounts, made for it or existing."""

    import_from: Annotated[str | None, Field(alias="import")] = None
    """A bucket, or a prefix of it, that the whole file system mirrors: short for a data repository at `/`."""
    data_repositories: tuple[DataRepository, ...] = ()
    """Folders that mirror buckets. Default: none."""
    mount_path: Annotated[str, Field(alias="mount")] = "/fsx"
    """Where nodes mount it. Default: `/fsx`."""
    existing: ExistingLustre | None = None
    """A file system that exists already. Then only `mount` may stand next to it."""

    @property
    def repositories(self) -> tuple[DataRepository, ...]:
        """All data repositories, that of `import` last."""
        if self.import_from is None:
            return self.data_repositories
        return (*self.data_repositories, DataRepository(file_system_path="/", s3=self.import_from))


class FleetVolume(OpenZfsVolumeSpec):
    """A volume of the fleet's OpenZFS file system, kept when the fleet goes. Its key is its name.

    Under another key it is another volume, and empty.
    """

    mount_path: Annotated[str, Field(alias="mount", examples=["/apps"])]
    """Where the nodes of every ParallelCluster mount it. HyperPod's nodes do not."""


class FleetOpenZfs(OpenZfsSpec):
    """An FSx for OpenZFS file system for home directories, made for the fleet or existing."""

    mount_path: Annotated[str, Field(alias="mount")] = "/home"
    """Where nodes mount it. Default: `/home`."""
    volumes: Annotated[Mapping[str, FleetVolume], Field(examples=[{"apps": {"mount": "/apps"}}])] = {}
    """Volumes of it that every ParallelCluster mounts elsewhere, e.g. at `/apps`, by name. Default: none."""
    existing: ExistingOpenZfs | None = None
    """A file system that exists already. Then only `mount` may stand next to it."""


class StorageConfig(FleetModel):
    """What outlives the clusters."""

    fsx: FleetLustre | None = None
    """An FSx for Lustre file system for data and checkpoints. Default: none."""
    home: FleetOpenZfs | None = None
    """An FSx for OpenZFS file system for home directories. Default: none; homes are then on the controller."""
    slurm_database: SlurmDatabaseSpec | None = Field(default=None, examples=["{}"])
    """A database for Slurm's accounting, for clusters with `accounting: slurm_database`. Default: none."""
    buckets: Mapping[str, BucketSpec] = {}
    """Buckets for data and models, by name. Default: none."""
