"""The FSx for Lustre file system of a fleet."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from llm_fleet.config.data_repository import DataRepositoryConfig
from llm_fleet.config.existing_fsx import ExistingFsxConfig
from llm_fleet.config.fsx_backups import FsxBackupsConfig
from llm_fleet.config.throughput import LustreThroughput
from llm_fleet.rules.lustre_settings import DEFAULT_VERSION, LustreSettings
from llm_fleet.rules.terms import LustreDeploymentType, LustreStorageType
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Gibibytes, KeyArn, LustreGibibytes


class FsxConfig(FleetModel):
    """An FSx for Lustre file system that every node of the fleet mounts, made for it or existing."""

    written_as: ClassVar[Mapping[str, str]] = {
        "per_unit_storage_throughput": "throughput",
        "throughput_capacity": "throughput",
        "own_key": "key",
    }

    deployment_type: LustreDeploymentType = Field(default=LustreDeploymentType.PERSISTENT_2, alias="deployment")
    """Deployment type. Default: `PERSISTENT_2`, the only one with EFA."""
    storage_type: LustreStorageType = Field(default=LustreStorageType.SSD, alias="storage")
    """Storage type. Default: `SSD`."""
    storage_capacity_gib: LustreGibibytes | None = Field(default=None, alias="size")
    """Its size, e.g. `4800 GiB`; as FSx has it, `4.8 TiB` is the same. Default: the smallest that is sold."""
    throughput: LustreThroughput | None = None
    """`250 MB/s/TiB`, or for INTELLIGENT_TIERING that of the whole file system, `4 GB/s`. Default: 250 MB/s/TiB."""
    metadata_iops: int | None = None
    """Provisioned metadata operations a second. Default: automatic."""
    efa_enabled: bool | None = Field(default=None, alias="efa")
    """Whether nodes reach it over EFA, which is for good: write it before a deployed one grows. Default: yes where
    deployment type, size and throughput allow it."""
    compression: str = Field(default="LZ4", json_schema_extra={"enum": ["LZ4", "NONE"]})
    """`LZ4` or `NONE`. Default: `LZ4`."""
    version: str = DEFAULT_VERSION
    """Lustre version, in quotes. Default: `"2.15"`, that of the client on the nodes."""
    drive_cache: str | None = Field(default=None, json_schema_extra={"enum": ["READ", "NONE"]})
    """`READ` or `NONE`, for HDD only. Default: `READ` there."""
    read_cache: str | None = Field(
        default=None,
        json_schema_extra={"enum": ["NO_CACHE", "USER_PROVISIONED", "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"]},
    )
    """How the SSD read cache of INTELLIGENT_TIERING is sized. Default: in proportion to the throughput."""
    read_cache_gib: Gibibytes | None = Field(default=None, alias="read_cache_size")
    """Size of that cache, where you set it."""
    backups: FsxBackupsConfig | None = None
    """Daily backups. Default: kept for 7 days where the deployment type has backups."""
    maintenance_start_time: str | None = Field(default=None, alias="maintenance")
    """Weekly maintenance, as `d:HH:MM` in UTC, where 1 is Monday. Default: FSx picks a time."""
    kms_key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key that encrypts it. Default: a key of the fleet's own, where the type takes one."""
    import_from: str | None = Field(default=None, alias="import")
    """A bucket, or a prefix of it, that the whole file system mirrors: short for a data repository at `/`."""
    data_repositories: tuple[DataRepositoryConfig, ...] = ()
    """Folders that mirror buckets. Default: none."""
    log_level: Literal["DISABLED", "WARN_ONLY", "ERROR_ONLY", "WARN_ERROR"] | None = None
    """Which events of the links to S3 are logged. Default: warnings and errors."""
    log_group: str | None = None
    """An existing log group for them; its name begins with `/aws/fsx`. Default: one is made."""
    mount_path: str = Field(default="/fsx", alias="mount")
    """Where nodes mount it. Default: `/fsx`."""
    availability_zone_id: str | None = Field(default=None, alias="az")
    """AZ id where it stands. Default: the network's first."""
    existing: ExistingFsxConfig | None = None
    """A file system that exists already. Then only `mount` may stand next to it."""

    @property
    def repositories(self) -> tuple[DataRepositoryConfig, ...]:
        """All data repositories, that of `import` last."""
        if self.import_from is None:
            return self.data_repositories
        whole = DataRepositoryConfig.model_validate({"path": "/", "s3": self.import_from})
        return (*self.data_repositories, whole)

    @property
    def settings(self) -> LustreSettings:
        """What the rule and the construct judge."""
        backups = self.backups or FsxBackupsConfig()
        throughput = self.throughput
        return LustreSettings(
            deployment_type=self.deployment_type,
            storage_type=self.storage_type,
            storage_capacity_gib=self.storage_capacity_gib,
            per_unit_storage_throughput=throughput.per_tib if throughput else None,
            throughput_capacity=throughput.whole if throughput else None,
            metadata_iops=self.metadata_iops,
            efa_enabled=self.efa_enabled,
            compression=self.compression,
            version=self.version,
            drive_cache=self.drive_cache,
            read_cache=self.read_cache,
            read_cache_gib=self.read_cache_gib,
            backup_retention_days=backups.retention_days,
            backup_start_time=backups.start_time,
            copy_tags_to_backups=backups.copy_tags,
            maintenance_start_time=self.maintenance_start_time,
            own_key=self.kms_key_arn is not None,
        )
