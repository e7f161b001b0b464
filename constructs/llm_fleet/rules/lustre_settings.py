"""What may be said of an FSx for Lustre file system, and what is chosen where nothing is said."""

from dataclasses import dataclass

from llm_fleet.catalog.lustre import LustreVariant, lustre_limits, lustre_variant
from llm_fleet.rules.terms import LustreDeploymentType, LustreStorageType
from llm_fleet.rules.tokens import is_unresolved

DEFAULT_VERSION = "2.15"
"""What the HyperPod AMI's client speaks, and EFA and metadata configuration need; the service picks an older one."""

_CHOSEN_THROUGHPUT = {
    (LustreDeploymentType.PERSISTENT_1, LustreStorageType.SSD): 200,
    (LustreDeploymentType.PERSISTENT_1, LustreStorageType.HDD): 40,
    (LustreDeploymentType.PERSISTENT_2, LustreStorageType.SSD): 250,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreSettings:
    """The wishes of a user; `None` asks for the default that the property of the same meaning tells.

    The fleet file and the construct both fill this in, so that one rule, `check_lustre`, serves both.
    Values are taken as they come: it is the rule that judges them.
    """

    deployment_type: str = LustreDeploymentType.PERSISTENT_2
    storage_type: str = LustreStorageType.SSD
    storage_capacity_gib: int | None = None
    """GiB. Default: the smallest that the deployment type sells. Intelligent-Tiering is elastic and takes none."""
    per_unit_storage_throughput: int | None = None
    """MB/s per TiB. Default: 250 for PERSISTENT_2, 200 for PERSISTENT_1 on SSD, 40 on HDD; scratch takes none."""
    throughput_capacity: int | None = None
    """MB/s of the whole file system, for Intelligent-Tiering only. Default: its smallest."""
    metadata_iops: int | None = None
    """Provisioned metadata IOPS. Default: automatic on PERSISTENT_2 SSD, the smallest on Intelligent-Tiering."""
    efa_enabled: bool | None = None
    """Default: on where the deployment type, version and capacity allow it, off where that cannot be told yet.
    FSx decides it once: say it outright before growing a file system, so that the default cannot change under it.
    assumption: fsx-refuses-another-efa"""
    compression: str = "LZ4"
    """`LZ4` or `NONE`."""
    version: str = DEFAULT_VERSION
    """Lustre server version."""
    drive_cache: str | None = None
    """`READ` or `NONE`, for HDD only. Default: `READ` there."""
    read_cache: str | None = None
    """How Intelligent-Tiering sizes its SSD read cache. Default: in proportion to the throughput, or by
    `read_cache_gib` where that is given."""
    read_cache_gib: int | None = None
    """GiB of SSD read cache, for Intelligent-Tiering only."""
    backup_retention_days: int | None = None
    """Days that automatic backups are kept, 0 for none. Default: 7 where backups exist."""
    backup_start_time: str | None = None
    """`HH:MM`, UTC. Default: the service picks one."""
    copy_tags_to_backups: bool | None = None
    """Whether backups bear the file system's tags. A change replaces the file system, and one that is linked to S3 must
    not have it. Default: off."""
    maintenance_start_time: str | None = None
    """`d:HH:MM`, UTC, 1 is Monday. Default: the service picks one."""
    own_key: bool = False
    """Whether a KMS key of the account's own is to encrypt it."""
    region: str | None = None
    """Where it is to be made, e.g. `us-west-2`. Default: nobody knows, and every deployment type is taken as there."""

    @property
    def variant(self) -> LustreVariant | None:
        """What the service sells under this deployment and storage type; `None` when it sells no such thing."""
        if is_unresolved(self.deployment_type) or is_unresolved(self.storage_type):
            return None
        return lustre_variant(self.deployment_type, self.storage_type)

    @property
    def effective_throughput(self) -> int | None:
        """MB/s per TiB to ask for; `None` where the service takes none."""
        variant = self.variant
        if self.per_unit_storage_throughput is not None or variant is None or not variant.throughputs:
            return self.per_unit_storage_throughput
        chosen = {(str(d), str(s)): value for (d, s), value in _CHOSEN_THROUGHPUT.items()}
        return chosen[(variant.deployment_type, variant.storage_type)]

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
        variant = self.variant
        if self.throughput_capacity is not None or variant is None or variant.throughput_capacity is None:
            return self.throughput_capacity
        return variant.throughput_capacity.smallest

    @property
    def efa_possible(self) -> bool:
        """Whether the service would enable EFA on this file system."""
        variant = self.variant
        if variant is None or not variant.efa or self.version != lustre_limits().metadata_version:
            return False
        if self.region in lustre_limits().regions_without_efa:
            return False
        if not variant.tiers:
            return True
        tier, capacity = variant.tier(self.effective_throughput), self.effective_capacity_gib
        if tier is None or tier.efa_capacity is None or capacity is None or is_unresolved(capacity):
            return False
        return tier.efa_capacity.accepts(capacity)

    @property
    def effective_efa(self) -> bool:
        """Whether to enable EFA."""
        return self.efa_possible if self.efa_enabled is None else self.efa_enabled

    @property
    def effective_backup_retention_days(self) -> int:
        """Days that automatic backups are kept."""
        if self.backup_retention_days is not None:
            return self.backup_retention_days
        return 7 if self.variant is not None and self.variant.backups else 0
