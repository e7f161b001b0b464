"""The FSx for OpenZFS file system for home directories."""

from pydantic import Field

from llm_fleet.config.backups import BackupsConfig
from llm_fleet.config.existing_home import ExistingHomeConfig
from llm_fleet.config.model import FleetModel
from llm_fleet.config.types import Gibibytes, MegabytesPerSecond


class HomeConfig(FleetModel):
    """An FSx for OpenZFS file system for home directories, made for the fleet or existing."""

    storage_capacity_gib: Gibibytes | None = Field(default=None, alias="size")
    """Its size, e.g. `512 GiB`."""
    throughput_capacity: MegabytesPerSecond | None = Field(default=None, alias="throughput")
    """Its throughput, e.g. `320 MB/s`."""
    deployment_type: str | None = Field(default=None, alias="deployment")
    """Deployment type. Default: as the file system construct says."""
    compression: str | None = Field(default=None, json_schema_extra={"enum": ["NONE", "ZSTD", "LZ4"]})
    """`ZSTD`, `LZ4` or `NONE`. Default: as the file system construct says."""
    backups: BackupsConfig | None = None
    """Daily backups. Default: kept for 7 days."""
    maintenance_start_time: str | None = Field(default=None, alias="maintenance")
    """Weekly maintenance, as `d:HH:MM` in UTC, where 1 is Monday. Default: FSx picks a time."""
    kms_key_arn: str | None = Field(default=None, alias="key")
    """ARN of the KMS key that encrypts it. Default: a key of the fleet's own."""
    mount_path: str = Field(default="/home", alias="mount")
    """Where nodes mount it. Default: `/home`."""
    availability_zone_id: str | None = Field(default=None, alias="az")
    """AZ id where it stands. Default: the network's first."""
    existing: ExistingHomeConfig | None = None
    """A file system that exists already. Then only `mount` may stand next to it."""
