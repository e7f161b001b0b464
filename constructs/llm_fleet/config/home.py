"""The FSx for OpenZFS file system for home directories."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from llm_fleet.catalog.openzfs import open_zfs_limits
from llm_fleet.config.backups import BackupsConfig
from llm_fleet.config.existing_home import ExistingHomeConfig
from llm_fleet.config.open_zfs_volume import OpenZfsVolumeConfig
from llm_fleet.rules.openzfs import OpenZfsSettings
from llm_fleet.spec.model import FleetModel, name_entries
from llm_fleet.spec.values import Gibibytes, KeyArn, Kibibytes, MegabytesPerSecond

_DEFAULTS = OpenZfsSettings()


def _types(schema: dict[str, Any]) -> None:
    schema["enum"] = list(open_zfs_limits().throughputs)


class HomeConfig(FleetModel):
    """An FSx for OpenZFS file system for home directories, made for the fleet or existing."""

    deployment_type: str = Field(default=_DEFAULTS.deployment_type, alias="deployment", json_schema_extra=_types)
    """Deployment type, one of the single-AZ ones. Default: `SINGLE_AZ_HA_2`, which has a standby server."""
    storage_capacity_gib: Gibibytes = Field(default=_DEFAULTS.storage_capacity_gib, alias="size")
    """Its size, e.g. `1 TiB`. Default: `512 GiB`."""
    throughput_capacity: MegabytesPerSecond | None = Field(default=None, alias="throughput")
    """Its throughput, e.g. `320 MB/s`. Default: `160 MB/s`, or the next that the deployment type has."""
    disk_iops: int | None = None
    """Provisioned disk operations a second. Default: 3 for each GiB, which come with it."""
    compression: str = Field(default=_DEFAULTS.compression, json_schema_extra={"enum": ["ZSTD", "LZ4", "NONE"]})
    """`ZSTD`, `LZ4` or `NONE`. Default: `ZSTD`."""
    record_size_kib: Kibibytes | None = Field(default=None, alias="record_size")
    """Record size, e.g. `128 KiB`. Default: chosen by FSx."""
    backups: BackupsConfig | None = None
    """Daily backups. Default: kept for 30 days."""
    maintenance_start_time: str | None = Field(default=None, alias="maintenance")
    """Weekly maintenance, as `d:HH:MM` in UTC, where 1 is Monday. Default: FSx picks a time."""
    kms_key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key that encrypts it. Default: a key of the fleet's own."""
    mount_path: str = Field(default="/home", alias="mount")
    """Where nodes mount it. Default: `/home`."""
    availability_zone_id: str | None = Field(default=None, alias="az")
    """AZ id where it stands. Default: the network's first."""
    volumes: Mapping[str, OpenZfsVolumeConfig] = Field(default={}, examples=[{"apps": {"mount": "/apps"}}])
    """Volumes of it that every ParallelCluster mounts elsewhere, e.g. at `/apps`, by name. Default: none."""
    existing: ExistingHomeConfig | None = None
    """A file system that exists already. Then only `mount` may stand next to it."""

    @model_validator(mode="after")
    def _tell_volumes(self) -> Self:
        name_entries(self.volumes)
        return self

    @property
    def settings(self) -> OpenZfsSettings:
        """What the rule and the construct judge."""
        kept = self.backups.retention_days if self.backups else None
        return OpenZfsSettings(
            deployment_type=self.deployment_type,
            storage_capacity_gib=self.storage_capacity_gib,
            throughput_capacity=self.throughput_capacity,
            disk_iops=self.disk_iops,
            compression=self.compression,
            record_size_kib=self.record_size_kib,
            backup_retention_days=_DEFAULTS.backup_retention_days if kept is None else kept,
            backup_start_time=self.backups.start_time if self.backups else None,
            maintenance_start_time=self.maintenance_start_time,
        )
