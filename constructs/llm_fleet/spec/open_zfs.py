"""An FSx for OpenZFS file system, for home directories, and the volumes in it."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from llm_fleet.catalog.fsx import open_zfs_limits
from llm_fleet.spec.references import SECURITY_GROUP, Key, OwnSecurityGroup
from llm_fleet.spec.shape import OWN_KEY
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import (
    Days,
    Gibibytes,
    Kibibytes,
    MegabytesPerSecond,
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
        asked = self.backups.retention_days if self.backups is not None else None
        return _KEPT_DAYS if asked is None else asked


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
