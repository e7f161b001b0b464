"""File systems and buckets: FSx for OpenZFS and its volumes, FSx for Lustre, S3 buckets for data."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from llm_fleet.catalog.fsx import LustreVariant, lustre_limits, lustre_variant, open_zfs_limits
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.references import SECURITY_GROUP, Bucket, Key, LogGroup, OwnSecurityGroup
from llm_fleet.spec.spec import PYTHON_ONLY, InRequest, Spec
from llm_fleet.spec.values import (
    Days,
    Gibibytes,
    Kibibytes,
    LustreGibibytes,
    MegabytesPerSecond,
    Quantity,
)

_CHOSEN_THROUGHPUT = 160
_KEPT_DAYS = 30


class Backups(Spec):
    """Automatic daily backups of FSx."""

    retention_days: Annotated[Days | None, Field(alias="keep")] = None
    """Retention of each backup, at most `90 days`; `0 days` for no backups. Default: that of the file system."""
    start_time: Annotated[str | None, Field(alias="at")] = None
    """Time of the backup, as `HH:MM` in UTC. Default: FSx chooses a time."""


def _types(schema: dict[str, Any]) -> None:
    schema["enum"] = list(open_zfs_limits().throughputs)


class OpenZfsSpec(Spec):
    """An FSx for OpenZFS file system for home directories. Errors, as FSx would report them: LF308 to LF310, LF330 to
    LF333."""

    other_words: ClassVar[Mapping[str, str]] = dict.fromkeys(("kms_key_arn", "kms_key_id"), "write `key`")

    deployment_type: Annotated[str, Field(alias="deployment", json_schema_extra=_types)] = "SINGLE_AZ_HA_2"
    """Deployment type, a single-AZ one. Default: `SINGLE_AZ_HA_2`, which has a standby server."""
    # Nodes are in one AZ, so their home directories must be, too. With a standby server, because the loss of /home
    # stops every job; the second generation has a read cache.
    # job; the second generation has a read cache.
    storage_capacity_gib: Annotated[Gibibytes, Field(alias="size")] = 512
    """Storage capacity, e.g. `1 TiB`. Default: `512 GiB`."""
    throughput_capacity: Annotated[MegabytesPerSecond | None, Field(alias="throughput")] = None
    """Throughput capacity, e.g. `320 MB/s`. Default: `160 MB/s`, or the next higher value of the deployment type."""
    disk_iops: int | None = None
    """Provisioned disk IOPS. Default: 3 for each GiB, which are included."""
    # Home directories are text and code, which compress well, and are rarely the bottleneck.
    compression: Annotated[str, Field(json_schema_extra={"enum": ["ZSTD", "LZ4", "NONE"]})] = "ZSTD"
    """`ZSTD`, `LZ4` or `NONE`. Default: `ZSTD`."""
    record_size_kib: Annotated[Kibibytes | None, Field(alias="record_size")] = None
    """Record size, e.g. `128 KiB`. Default: chosen by FSx."""
    backups: Backups | None = None
    """Daily backups. Default: retained for 30 days."""
    maintenance_start_time: Annotated[str | None, Field(alias="maintenance")] = None
    """Weekly maintenance, as `d:HH:MM` in UTC, where 1 is Monday. Default: FSx chooses a time."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """KMS key that encrypts it, by ARN. Default: the fleet's own key; in Python, the account's `aws/fsx` key."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of the file system. Default: the network's first AZ."""

    @property
    def effective_throughput_capacity(self) -> int:
        """Throughput capacity in MB/s, with its default."""
        if self.throughput_capacity is not None:
            return self.throughput_capacity
        steps = open_zfs_limits().throughputs.get(self.deployment_type)
        if steps is None or steps.accepts(_CHOSEN_THROUGHPUT):
            return _CHOSEN_THROUGHPUT
        return steps.nearest(_CHOSEN_THROUGHPUT)[1] or steps.smallest

    @property
    def effective_backup_retention_days(self) -> int:
        """Retention of automatic backups in days, with its default."""
        requested = self.backups.retention_days if self.backups is not None else None
        return _KEPT_DAYS if requested is None else requested


class OpenZfsVolumeSpec(Spec):
    """A volume of an OpenZFS file system next to its root volume, e.g. for `/apps`. Errors have LF334 or LF335."""

    name: Annotated[str | None, Field(alias=OWN_KEY)] = None
    """Last part of its export path, `/fsx/<name>`. Default: the id of the construct."""
    quota_gib: Annotated[Gibibytes | None, Field(alias="quota")] = None
    """Maximum storage that it can use, e.g. `200 GiB`. Default: all free storage of the file system."""


class ExistingOpenZfs(Spec):
    """An existing FSx for OpenZFS file system. A value that FSx never assigns has LF120."""

    other_words: ClassVar[Mapping[str, str]] = {"security_group_id": "write `security_group`"}

    file_system_id: Annotated[str, Field(alias="id", examples=["fs-0123456789abcdef0"])]
    """Id of the file system."""
    dns_name: str | None = None
    """DNS name that nodes mount. Default: `<id>.fsx.<region>.amazonaws.com`, FSx's own."""
    volume_id: Annotated[str | None, Field(alias="volume")] = None
    """Id of its root volume, `fsvol-…`, or of a child volume, required by a ParallelCluster. Default: not set."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of the file system. Default: unknown, and not checked."""
    security_group: OwnSecurityGroup | None = None
    """Its security group, to which the deployment adds rules for the nodes. Leave it out if the rules exist, because
    EC2 rejects duplicate rules. Default: no rules are added; you have allowed the connections yourself."""

    @property
    def security_group_id(self) -> str | None:
        """The id of `security_group`, which may be a token."""
        return None if self.security_group is None else SECURITY_GROUP.name_of(self.security_group)


DEFAULT_VERSION = "2.15"
"""The version of the client in HyperPod's AMI, required by EFA and metadata configuration; FSx's own default is
older."""
_LUSTRE_KEPT_DAYS = 7
_THROUGHPUT = Quantity(
    noun="throughput",
    units={"MB/s/TiB": 1, "MB/s": 1, "GB/s": 1000},
    example="250 MB/s/TiB",
    # The default deployment type has a throughput for each TiB.
    twins=dict.fromkeys(("mib/s", "mib/s/tib", "mbps", "mb", "mib"), "MB/s/TiB"),
)

Change = Literal["NEW", "CHANGED", "DELETED"]
"""Changes that are imported from S3 or exported to it."""


class LustreDeploymentType(StrEnum):
    """FSx for Lustre deployment types."""

    SCRATCH_1 = "SCRATCH_1"
    SCRATCH_2 = "SCRATCH_2"
    PERSISTENT_1 = "PERSISTENT_1"
    PERSISTENT_2 = "PERSISTENT_2"


class LustreStorageType(StrEnum):
    """FSx for Lustre storage types."""

    SSD = "SSD"
    HDD = "HDD"
    INTELLIGENT_TIERING = "INTELLIGENT_TIERING"


_LUSTRE_THROUGHPUT: dict[tuple[str, str], int] = {
    (LustreDeploymentType.PERSISTENT_1, LustreStorageType.SSD): 200,
    (LustreDeploymentType.PERSISTENT_1, LustreStorageType.HDD): 40,
    (LustreDeploymentType.PERSISTENT_2, LustreStorageType.SSD): 250,
}


class LustreThroughput(Spec):
    """Throughput for each TiB of storage, or of the whole file system: `250 MB/s/TiB`, or `4 GB/s`."""

    per_tib: int | None = None
    """MB/s per TiB, for storage on SSD or HDD."""
    whole: int | None = None
    """MB/s of the whole file system, only for Intelligent-Tiering."""


class _AsText:
    """A throughput as one string, as in a fleet file. Metadata of a `LustreThroughput`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read the string with its unit from a fleet file."""
        text = core_schema.no_info_plain_validator_function(read_throughput)
        return core_schema.json_or_python_schema(json_schema=text, python_schema=handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema of the string."""
        return _THROUGHPUT.json_schema() | {"examples": ["250 MB/s/TiB", "24 GB/s"]}


def read_throughput(written: Any) -> LustreThroughput:
    """Read `250 MB/s/TiB`, or `4000 MB/s` or `24 GB/s` for a whole file system."""
    amount = _THROUGHPUT.parse(written)
    per_tib = str(written).strip().endswith("/TiB")
    return LustreThroughput(per_tib=amount) if per_tib else LustreThroughput(whole=amount)


class LustreBackups(Backups):
    """Automatic daily backups of FSx for a Lustre file system."""

    copy_tags: bool | None = None
    """Whether backups get the file system's tags. A change replaces the file system, and it must not be set for one
    that is linked to S3. Default: no."""


class DataRepository(Spec):
    """A folder of the file system that is linked to a bucket or a prefix in it. Errors, as FSx would report them: LF320
    to LF323."""

    file_system_path: Annotated[str, Field(alias="path", examples=["/data"]), InRequest("file_system_path")]
    """Folder in the file system, e.g. `/data`. If nodes mount the file system at `/fsx`, it is `/fsx/data`."""
    s3: Annotated[Bucket, Field(examples=["s3://my-data/"])]
    """The bucket, with or without a prefix, e.g. `s3://my-data/llama/`. For a CDK bucket with its own KMS key, FSx gets
    permission to use the key; for an `s3://` URI the key policy must already allow it."""
    prefix: Annotated[str, Field(alias=f"{PYTHON_ONLY} prefix")] = ""
    """Prefix in a bucket of the CDK; an `s3://` URI contains its own. Default: the whole bucket."""
    auto_import: Annotated[tuple[Change, ...], Field(alias="import")] = ("NEW", "CHANGED", "DELETED")
    """Changes in S3 that are imported into the folder. Default: all three."""
    auto_export: Annotated[tuple[Change, ...], Field(alias="export")] = ()
    """Changes in the folder that are exported to S3. Default: none, so that a job cannot damage data in S3."""
    import_existing: Annotated[bool, InRequest("batch_import_meta_data_on_create")] = True
    """Whether existing objects in S3 are listed in the folder from the start. Default: yes."""

    @property
    def data_repository_path(self) -> str:
        """The `s3://` URI of the bucket and prefix."""
        return self.s3 if isinstance(self.s3, str) else f"s3://{self.s3.bucket_name}/{self.prefix.lstrip('/')}"


class LustreSpec(Spec):
    """An FSx for Lustre file system. Errors, as FSx would report them, have LF301 to LF312.

    The default of a value is the service's own, or that of the property `effective_…` with the same meaning.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("per_unit_storage_throughput", "throughput_capacity"), "write `throughput`"),
        **dict.fromkeys(("own_key", "kms_key_arn", "kms_key_id"), "write `key`"),
    }

    deployment_type: Annotated[LustreDeploymentType, Field(alias="deployment"), InRequest("deployment_type")] = (
        LustreDeploymentType.PERSISTENT_2
    )
    """Deployment type. Default: `PERSISTENT_2`, the only one with EFA."""
    storage_type: Annotated[LustreStorageType, Field(alias="storage")] = LustreStorageType.SSD
    """Storage type. Default: `SSD`."""
    storage_capacity_gib: Annotated[LustreGibibytes | None, Field(alias="size")] = None
    """Storage capacity, e.g. `4800 GiB`; `4.8 TiB` is the same, as in FSx's documents. Default: the smallest
    capacity of the deployment type, `1200 GiB` for PERSISTENT_2 on SSD."""
    throughput: Annotated[LustreThroughput, _AsText()] | None = None
    """Throughput: `250 MB/s/TiB`, or for INTELLIGENT_TIERING that of the whole file system, `4 GB/s`. Default: 250
    MB/s/TiB."""
    metadata_iops: int | None = None
    """Provisioned metadata IOPS. Default: automatic."""
    # assumption: fsx-refuses-another-efa
    efa_enabled: Annotated[bool | None, Field(alias="efa")] = None
    """Whether nodes use EFA to reach it. It cannot be changed later: set it before you increase a deployed file system.
    Default: yes if deployment type, size and throughput support EFA."""
    compression: Annotated[
        str, Field(json_schema_extra={"enum": ["LZ4", "NONE"]}), InRequest("data_compression_type")
    ] = "LZ4"
    """Data compression, `LZ4` or `NONE`. Default: `LZ4`."""
    version: str = DEFAULT_VERSION
    """Lustre version, in quotes. Default: `"2.15"`, that of the client on the nodes."""
    drive_cache: Annotated[str | None, Field(json_schema_extra={"enum": ["READ", "NONE"]})] = None
    """Drive cache, `READ` or `NONE`, only for HDD. Default: `READ` for HDD."""
    read_cache: Annotated[
        str | None,
        Field(json_schema_extra={"enum": ["NO_CACHE", "USER_PROVISIONED", "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"]}),
    ] = None
    """Sizing mode of the SSD read cache of INTELLIGENT_TIERING. Default: proportional to the throughput."""
    read_cache_gib: Annotated[Gibibytes | None, Field(alias="read_cache_size")] = None
    """Size of that cache, if its sizing mode is user-provisioned."""
    backups: LustreBackups | None = None
    """Daily backups. Default: retained for 7 days if the deployment type supports backups."""
    maintenance_start_time: Annotated[
        str | None, Field(alias="maintenance"), InRequest("weekly_maintenance_start_time")
    ] = None
    """Weekly maintenance, as `d:HH:MM` in UTC, where 1 is Monday. Default: FSx chooses a time."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """KMS key that encrypts it, by ARN. Default: the fleet's own key if the deployment type supports it; in Python the
    account's `aws/fsx` key."""
    log_level: Literal["DISABLED", "WARN_ONLY", "ERROR_ONLY", "WARN_ERROR"] | None = None
    """Events of the data repository associations that are logged. Default: warnings and errors."""
    log_group: LogGroup | None = None
    """Existing log group for these events; its name must begin with `/aws/fsx`. Default: a log group is created."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of the file system. Default: the network's first AZ."""

    @property
    def variant(self) -> LustreVariant | None:
        """Properties of this deployment and storage type; `None` if FSx does not offer the combination."""
        if is_unresolved(self.deployment_type) or is_unresolved(self.storage_type):
            return None
        return lustre_variant(self.deployment_type, self.storage_type)

    @property
    def effective_throughput(self) -> int | None:
        """Throughput in MB/s per TiB, with its default; `None` if the type has no such setting."""
        requested = self.throughput.per_tib if self.throughput is not None else None
        variant = self.variant
        if requested is not None or variant is None or not variant.throughputs:
            return requested
        return _LUSTRE_THROUGHPUT[(variant.deployment_type, variant.storage_type)]

    @property
    def effective_capacity_gib(self) -> int | None:
        """Storage capacity in GiB, with its default; `None` if the file system is elastic."""
        variant = self.variant
        if self.storage_capacity_gib is not None or variant is None:
            return self.storage_capacity_gib
        tier = variant.tier(self.effective_throughput)
        return tier.capacity.smallest if tier else None

    @property
    def effective_throughput_capacity(self) -> int | None:
        """Throughput of the whole file system in MB/s, with its default; `None` except for Intelligent-Tiering."""
        requested = self.throughput.whole if self.throughput is not None else None
        variant = self.variant
        if requested is not None or variant is None or variant.throughput_capacity is None:
            return requested
        return variant.throughput_capacity.smallest

    @property
    def effective_backup_retention_days(self) -> int:
        """Retention of automatic backups in days, with its default."""
        requested = self.backups.retention_days if self.backups is not None else None
        if requested is not None:
            return requested
        return _LUSTRE_KEPT_DAYS if self.variant is not None and self.variant.backups else 0

    def effective_efa(self, region: str | None) -> bool:
        """Return whether to enable EFA in `region`. An unknown region, `None`, counts as one with all types."""
        return self._efa_possible(region) if self.efa_enabled is None else self.efa_enabled

    def _efa_possible(self, region: str | None) -> bool:
        """Return whether the service would enable EFA; no if this cannot be decided before deployment."""
        variant = self.variant
        if variant is None or not variant.efa or self.version != lustre_limits().metadata_version:
            return False
        if region in lustre_limits().regions_without_efa:
            return False
        if not variant.tiers:
            return True
        tier, capacity = variant.tier(self.effective_throughput), self.effective_capacity_gib
        if tier is None or tier.efa_capacity is None or capacity is None or is_unresolved(capacity):
            return False
        return tier.efa_capacity.accepts(capacity)


class ExistingLustre(Spec):
    """An existing FSx for Lustre file system. A value that FSx never assigns has LF120."""

    other_words: ClassVar[Mapping[str, str]] = {"security_group_id": "write `security_group`"}

    file_system_id: Annotated[str, Field(alias="id", examples=["fs-0123456789abcdef0"])]
    """Id of the file system."""
    dns_name: str | None = None
    """DNS name that nodes mount. Default: `<id>.fsx.<region>.amazonaws.com`, FSx's own."""
    mount_name: Annotated[str, Field(examples=["abcd1234"])]
    """Mount name, which FSx has generated."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of the file system. Default: unknown, and not checked."""
    efa_enabled: Annotated[bool, Field(alias="efa")] = False
    """Whether the file system was created with EFA. Default: no."""
    security_group: OwnSecurityGroup | None = None
    """Its security group, to which the deployment adds rules for the nodes. Leave it out if the rules exist, because
    EC2 rejects duplicate rules. Default: no rules are added; you have allowed the connections yourself."""

    @property
    def security_group_id(self) -> str | None:
        """The id of `security_group`, which may be a token."""
        return None if self.security_group is None else SECURITY_GROUP.name_of(self.security_group)


class BucketSpec(Spec):
    """A bucket for data or models, which is retained when its stack is deleted. An invalid name has LF340."""

    other_words: ClassVar[Mapping[str, str]] = {
        "bucket_name": "write `name`",
        **dict.fromkeys(("kms_key_arn", "kms_key_id", "encryption_key"), "write `key`"),
    }

    bucket_name: Annotated[str | None, Field(alias="name")] = None
    """Name of the bucket in S3. Default: CloudFormation generates a unique name."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """KMS key that encrypts it, by ARN. Default: the fleet's own key; in Python, a key that is created for the
    bucket."""
    event_bridge_enabled: Annotated[bool, Field(alias=f"{PYTHON_ONLY} event_bridge_enabled")] = False
    """Whether all events are sent to EventBridge, which charges for each event. `add_event_notification` would disable
    it. Default: no."""
    noncurrent_version_days: Annotated[int, Field(alias=f"{PYTHON_ONLY} noncurrent_version_days")] = 30
    """Retention of overwritten and deleted objects in days; at least 1 (LF341). Default: 30 days."""
    incomplete_upload_days: Annotated[int, Field(alias=f"{PYTHON_ONLY} incomplete_upload_days")] = 7
    """Days after which incomplete multipart uploads are deleted; at least 1 (LF341). Default: 7 days."""
