"""File systems and buckets: an FSx for OpenZFS and its volumes, an FSx for Lustre, a bucket for data."""

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
    """Daily backups that FSx makes by itself."""

    retention_days: Annotated[Days | None, Field(alias="keep")] = None
    """How long each is kept, at most `90 days`; `0 days` for none. Default: as the file system says."""
    start_time: Annotated[str | None, Field(alias="at")] = None
    """When, as `HH:MM` in UTC. Default: FSx picks a time."""


def _types(schema: dict[str, Any]) -> None:
    schema["enum"] = list(open_zfs_limits().throughputs)


class OpenZfsSpec(Spec):
    """An FSx for OpenZFS file system for home directories. FSx's refusals have LF308 to LF310, and LF330 to LF333."""

    other_words: ClassVar[Mapping[str, str]] = dict.fromkeys(("kms_key_arn", "kms_key_id"), "write `key`")

    deployment_type: Annotated[str, Field(alias="deployment", json_schema_extra=_types)] = "SINGLE_AZ_HA_2"
    """Deployment type, one of the single-AZ ones. Default: `SINGLE_AZ_HA_2`, which has a standby server."""
    # Nodes stand in one AZ, and so must their home directories. With a standby server, because a lost /home stops every
    # job; the second generation has a read cache.
    storage_capacity_gib: Annotated[Gibibytes, Field(alias="size")] = 512
    """Its size, e.g. `1 TiB`. Default: `512 GiB`."""
    throughput_capacity: Annotated[MegabytesPerSecond | None, Field(alias="throughput")] = None
    """Its throughput, e.g. `320 MB/s`. Default: `160 MB/s`, or the next that the deployment type has."""
    disk_iops: int | None = None
    """Provisioned disk operations a second. Default: 3 for each GiB, which come with it."""
    # Home directories are text and code: they shrink well, and are seldom the bottleneck.
    compression: Annotated[str, Field(json_schema_extra={"enum": ["ZSTD", "LZ4", "NONE"]})] = "ZSTD"
    """`ZSTD`, `LZ4` or `NONE`. Default: `ZSTD`."""
    record_size_kib: Annotated[Kibibytes | None, Field(alias="record_size")] = None
    """Record size, e.g. `128 KiB`. Default: chosen by FSx."""
    backups: Backups | None = None
    """Daily backups. Default: kept for 30 days."""
    maintenance_start_time: Annotated[str | None, Field(alias="maintenance")] = None
    """Weekly maintenance, as `d:HH:MM` in UTC, where 1 is Monday. Default: FSx picks a time."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """The KMS key that encrypts it, by its ARN. Default: a key of the fleet's own; in Python, the account's `aws/fsx`
    key."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id where it stands. Default: the network's first."""

    @property
    def effective_throughput_capacity(self) -> int:
        """MB/s to ask for."""
        if self.throughput_capacity is not None:
            return self.throughput_capacity
        steps = open_zfs_limits().throughputs.get(self.deployment_type)
        if steps is None or steps.accepts(_CHOSEN_THROUGHPUT):
            return _CHOSEN_THROUGHPUT
        return steps.nearest(_CHOSEN_THROUGHPUT)[1] or steps.smallest

    @property
    def effective_backup_retention_days(self) -> int:
        """Days that automatic backups are kept."""
        requested = self.backups.retention_days if self.backups is not None else None
        return _KEPT_DAYS if requested is None else requested


class OpenZfsVolumeSpec(Spec):
    """A volume of an OpenZFS file system beside its root volume, e.g. for `/apps`. A wrong one has LF334 or LF335."""

    name: Annotated[str | None, Field(alias=OWN_KEY)] = None
    """The last part of its export path, `/fsx/<name>`. Default: the id of the construct."""
    quota_gib: Annotated[Gibibytes | None, Field(alias="quota")] = None
    """How much of the file system it may take, e.g. `200 GiB`. Default: all that is free."""


class ExistingOpenZfs(Spec):
    """An FSx for OpenZFS file system that exists already. A value that FSx does not give one has LF120."""

    other_words: ClassVar[Mapping[str, str]] = {"security_group_id": "write `security_group`"}

    file_system_id: Annotated[str, Field(alias="id", examples=["fs-0123456789abcdef0"])]
    """Its id."""
    dns_name: str | None = None
    """The name that nodes mount. Default: `<id>.fsx.<region>.amazonaws.com`, FSx's own."""
    volume_id: Annotated[str | None, Field(alias="volume")] = None
    """Its root volume, `fsvol-…`, or a child volume, which a ParallelCluster asks for. Default: not known."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id where it stands. Default: not known, and not checked."""
    security_group: OwnSecurityGroup | None = None
    """Its security group, into which the deployment lets the nodes. Leave it out where the rules exist, because EC2
    refuses a rule twice. Default: you have let them in yourself."""

    @property
    def security_group_id(self) -> str | None:
        """The id of `security_group`, which may be a token."""
        return None if self.security_group is None else SECURITY_GROUP.name_of(self.security_group)


DEFAULT_VERSION = "2.15"
"""What the HyperPod AMI's client speaks, and EFA and metadata configuration need; the service picks an older one."""
_LUSTRE_KEPT_DAYS = 7
_THROUGHPUT = Quantity(noun="throughput", units={"MB/s/TiB": 1, "MB/s": 1, "GB/s": 1000}, example="250 MB/s/TiB")

Change = Literal["NEW", "CHANGED", "DELETED"]
"""Which change is carried over between a folder and S3."""


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
    """Either so much for each TiB of storage, or so much for the whole file system; `250 MB/s/TiB`, or `4 GB/s`."""

    per_tib: int | None = None
    """MB/s per TiB, of storage on SSD or HDD."""
    whole: int | None = None
    """MB/s of the whole file system, for Intelligent-Tiering only."""


class _AsText:
    """A throughput as a fleet file has it: one text. Metadata of a `LustreThroughput`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let a fleet file have the text with its unit."""
        text = core_schema.no_info_plain_validator_function(read_throughput)
        return core_schema.json_or_python_schema(json_schema=text, python_schema=handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return what an editor needs to know of it."""
        return _THROUGHPUT.json_schema() | {"examples": ["250 MB/s/TiB", "24 GB/s"]}


def read_throughput(written: Any) -> LustreThroughput:
    """Read `250 MB/s/TiB`, or `4000 MB/s` or `24 GB/s` for a whole file system."""
    amount = _THROUGHPUT.parse(written)
    per_tib = str(written).strip().endswith("/TiB")
    return LustreThroughput(per_tib=amount) if per_tib else LustreThroughput(whole=amount)


class LustreBackups(Backups):
    """Daily backups that FSx makes by itself of a Lustre file system."""

    copy_tags: bool | None = None
    """Whether backups bear the file system's tags. A change replaces the file system, and one that is linked to S3 must
    not have it. Default: no."""


class DataRepository(Spec):
    """A folder of the file system that mirrors a bucket or a prefix of it. FSx's refusals have LF320 to LF323."""

    file_system_path: Annotated[str, Field(alias="path", examples=["/data"]), InRequest("file_system_path")]
    """The folder, from the file system's root, e.g. `/data`. Where nodes mount it at `/fsx`, that is `/fsx/data`."""
    s3: Annotated[Bucket, Field(examples=["s3://my-data/"])]
    """The bucket, with or without a prefix, e.g. `s3://my-data/llama/`. Of the CDK's bucket with a KMS key of its own,
    FSx is allowed to use the key; of an `s3://` path the key's policy must say so already."""
    prefix: Annotated[str, Field(alias=f"{PYTHON_ONLY} prefix")] = ""
    """The prefix in a bucket of the CDK; an `s3://` path has its own. Default: the whole bucket."""
    auto_import: Annotated[tuple[Change, ...], Field(alias="import")] = ("NEW", "CHANGED", "DELETED")
    """Changes in S3 that show in the folder. Default: all three."""
    auto_export: Annotated[tuple[Change, ...], Field(alias="export")] = ()
    """Changes in the folder that are written back to S3. Default: none, so that a job's mistake stays its own."""
    import_existing: Annotated[bool, InRequest("batch_import_meta_data_on_create")] = True
    """Whether what lies in S3 already is listed in the folder at once. Default: yes."""

    @property
    def data_repository_path(self) -> str:
        """The `s3://` path."""
        return self.s3 if isinstance(self.s3, str) else f"s3://{self.s3.bucket_name}/{self.prefix.lstrip('/')}"


class LustreSpec(Spec):
    """An FSx for Lustre file system. What FSx would refuse of it has LF301 to LF312.

    A value that is left out is the service's, or what the property `effective_…` of the same meaning says.
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
    """Its size, e.g. `4800 GiB`; as FSx has it, `4.8 TiB` is the same. Default: the smallest that is sold."""
    throughput: Annotated[LustreThroughput, _AsText()] | None = None
    """`250 MB/s/TiB`, or for INTELLIGENT_TIERING that of the whole file system, `4 GB/s`. Default: 250 MB/s/TiB."""
    metadata_iops: int | None = None
    """Provisioned metadata operations a second. Default: automatic."""
    # assumption: fsx-refuses-another-efa
    efa_enabled: Annotated[bool | None, Field(alias="efa")] = None
    """Whether nodes reach it over EFA, which is for good: write it before a deployed one grows. Default: yes where
    deployment type, size and throughput allow it."""
    compression: Annotated[
        str, Field(json_schema_extra={"enum": ["LZ4", "NONE"]}), InRequest("data_compression_type")
    ] = "LZ4"
    """`LZ4` or `NONE`. Default: `LZ4`."""
    version: str = DEFAULT_VERSION
    """Lustre version, in quotes. Default: `"2.15"`, that of the client on the nodes."""
    drive_cache: Annotated[str | None, Field(json_schema_extra={"enum": ["READ", "NONE"]})] = None
    """`READ` or `NONE`, for HDD only. Default: `READ` there."""
    read_cache: Annotated[
        str | None,
        Field(json_schema_extra={"enum": ["NO_CACHE", "USER_PROVISIONED", "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"]}),
    ] = None
    """How the SSD read cache of INTELLIGENT_TIERING is sized. Default: in proportion to the throughput."""
    read_cache_gib: Annotated[Gibibytes | None, Field(alias="read_cache_size")] = None
    """Size of that cache, where you set it."""
    backups: LustreBackups | None = None
    """Daily backups. Default: kept for 7 days where the deployment type has backups."""
    maintenance_start_time: Annotated[
        str | None, Field(alias="maintenance"), InRequest("weekly_maintenance_start_time")
    ] = None
    """Weekly maintenance, as `d:HH:MM` in UTC, where 1 is Monday. Default: FSx picks a time."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """The KMS key that encrypts it, by its ARN. Default: a key of the fleet's own, where the type takes one; in Python
    the account's `aws/fsx`."""
    log_level: Literal["DISABLED", "WARN_ONLY", "ERROR_ONLY", "WARN_ERROR"] | None = None
    """Which events of the links to S3 are logged. Default: warnings and errors."""
    log_group: LogGroup | None = None
    """An existing log group for them; its name begins with `/aws/fsx`. Default: one is made."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id where it stands. Default: the network's first."""

    @property
    def variant(self) -> LustreVariant | None:
        """What the service sells under this deployment and storage type; `None` when it sells no such thing."""
        if is_unresolved(self.deployment_type) or is_unresolved(self.storage_type):
            return None
        return lustre_variant(self.deployment_type, self.storage_type)

    @property
    def effective_throughput(self) -> int | None:
        """MB/s per TiB to ask for; `None` where the service takes none."""
        requested = self.throughput.per_tib if self.throughput is not None else None
        variant = self.variant
        if requested is not None or variant is None or not variant.throughputs:
            return requested
        return _LUSTRE_THROUGHPUT[(variant.deployment_type, variant.storage_type)]

    @property
    def effective_capacity_gib(self) -> int | None:
        """GiB to ask for; `None` where the file system is elastic."""
        variant = self.variant
        if self.storage_capacity_gib is not None or variant is None:
            return self.storage_capacity_gib
        tier = variant.tier(self.effective_throughput)
        return tier.capacity.smallest if tier else None

    @property
    def effective_throughput_capacity(self) -> int | None:
        """MB/s of the whole file system to ask for; `None` except on Intelligent-Tiering."""
        requested = self.throughput.whole if self.throughput is not None else None
        variant = self.variant
        if requested is not None or variant is None or variant.throughput_capacity is None:
            return requested
        return variant.throughput_capacity.smallest

    @property
    def effective_backup_retention_days(self) -> int:
        """Days that automatic backups are kept."""
        requested = self.backups.retention_days if self.backups is not None else None
        if requested is not None:
            return requested
        return _LUSTRE_KEPT_DAYS if self.variant is not None and self.variant.backups else 0

    def effective_efa(self, region: str | None) -> bool:
        """Whether to enable EFA in `region`; `None`, where that is not known, counts as one that has all types."""
        return self._efa_possible(region) if self.efa_enabled is None else self.efa_enabled

    def _efa_possible(self, region: str | None) -> bool:
        """Return whether the service would enable EFA; not where that cannot be told yet."""
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
    """An FSx for Lustre file system that exists already. A value that FSx does not give one has LF120."""

    other_words: ClassVar[Mapping[str, str]] = {"security_group_id": "write `security_group`"}

    file_system_id: Annotated[str, Field(alias="id", examples=["fs-0123456789abcdef0"])]
    """Its id."""
    dns_name: str | None = None
    """The name that nodes mount. Default: `<id>.fsx.<region>.amazonaws.com`, FSx's own."""
    mount_name: Annotated[str, Field(examples=["abcd1234"])]
    """Its mount name, which FSx has generated."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id where it stands. Default: not known, and not checked."""
    efa_enabled: Annotated[bool, Field(alias="efa")] = False
    """Whether it was made with EFA. Default: no."""
    security_group: OwnSecurityGroup | None = None
    """Its security group, into which the deployment lets the nodes. Leave it out where the rules exist, because EC2
    refuses a rule twice. Default: you have let them in yourself."""

    @property
    def security_group_id(self) -> str | None:
        """The id of `security_group`, which may be a token."""
        return None if self.security_group is None else SECURITY_GROUP.name_of(self.security_group)


class BucketSpec(Spec):
    """A bucket for data or models, which is kept when its stack goes. A name that S3 refuses has LF340."""

    other_words: ClassVar[Mapping[str, str]] = {
        "bucket_name": "write `name`",
        **dict.fromkeys(("kms_key_arn", "kms_key_id", "encryption_key"), "write `key`"),
    }

    bucket_name: Annotated[str | None, Field(alias="name")] = None
    """Its name in S3. Default: CloudFormation makes one, which cannot clash."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """The KMS key that encrypts it, by its ARN. Default: a key of the fleet's own; in Python, of the bucket's own."""
    event_bridge_enabled: Annotated[bool, Field(alias=f"{PYTHON_ONLY} event_bridge_enabled")] = False
    """Whether every event goes to EventBridge, which costs by the event. `add_event_notification` would switch it off
    again. Default: no."""
    noncurrent_version_days: Annotated[int, Field(alias=f"{PYTHON_ONLY} noncurrent_version_days")] = 30
    """How long an overwritten or deleted object can be had back; at least 1 (LF341). Default: 30 days."""
    incomplete_upload_days: Annotated[int, Field(alias=f"{PYTHON_ONLY} incomplete_upload_days")] = 7
    """When the parts of an upload that was broken off are thrown away; at least 1 (LF341). Default: after 7 days."""
