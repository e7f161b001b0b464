"""FSx for Lustre and OpenZFS: what is sold, in which steps, what goes with what, and what training needs."""

from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.data_file import Steps, reader
from llm_fleet.catalog.hyperpod import Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreTier:
    """One throughput of a deployment type, and the capacities that it comes in."""

    throughput: int | None
    """MB/s per TiB; `None` where it is fixed and may not be asked for."""
    capacity: Steps
    """GiB."""
    efa_capacity: Steps | None = None
    """GiB with EFA enabled, in far bigger steps; `None` where EFA does not exist. A step is what one server holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreVariant:
    """A deployment type with a storage type, and what the service lets go with it."""

    deployment_type: str
    storage_type: str
    tiers: tuple[LustreTier, ...]
    """Empty where the file system is elastic."""
    versions: tuple[str, ...]
    efa: bool
    own_key: bool
    backups: bool
    data_repositories: bool
    drive_cache: bool
    metadata_iops: Steps | None = None
    metadata_automatic: bool = False
    throughput_capacity: Steps | None = None
    """MB/s of the whole file system, where that is how it is sold."""

    @property
    def throughputs(self) -> tuple[int, ...]:
        """The MB/s per TiB that may be asked for; empty where it is fixed."""
        return tuple(tier.throughput for tier in self.tiers if tier.throughput is not None)

    def tier(self, throughput: int | None) -> LustreTier | None:
        """Return the tier of `throughput`; `None` where there is none such."""
        return next((tier for tier in self.tiers if tier.throughput == throughput), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreLimits:
    """What holds for every deployment type."""

    versions: tuple[str, ...]
    metadata_version: str
    """The only server version that takes a metadata configuration, and so EFA."""
    compressions: tuple[str, ...]
    drive_caches: tuple[str, ...]
    read_cache_modes: tuple[str, ...]
    read_cache_gib_per_step: tuple[int, int]
    """Smallest and largest SSD read cache in GiB for every step of throughput capacity."""
    metadata_modes: tuple[str, ...]
    metadata_iops_per_server: int
    """Provisioned metadata IOPS that one metadata server gives."""
    automatic_metadata_gib_per_server: int
    """GiB of storage for which automatic mode provides one metadata server."""
    log_levels: tuple[str, ...]
    data_repositories: int
    """Most associations a file system."""
    data_repository_versions: tuple[str, ...]
    data_repository_events: tuple[str, ...]
    backup_retention_days: int
    ports: tuple[tuple[int, int], ...]
    """TCP port ranges between clients and servers, and among the servers."""
    regions_without_persistent_2: tuple[str, ...]
    """Regions for which the user guide does not list it. AWS adds regions: ground for a warning, not for a refusal."""
    regions_without_efa: tuple[str, ...]
    """Regions whose PERSISTENT_2 is listed without EFA, and with no more than `throughput_without_efa`."""
    throughput_without_efa: int
    """MB/s per TiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreEfaSystem:
    """An operating system of clients over EFA, from a version on."""

    id: str
    """As `/etc/os-release` has it."""
    version: str
    """The oldest, as `VERSION_ID` there."""
    kernel: str | None
    """The oldest, where FSx names one."""
    parallelcluster: tuple[str, ...]
    """What ParallelCluster calls those whose images may be of such a version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreEfa:
    """What FSx says of clients over EFA, which it serves whatever the deployment type."""

    connections: int
    """Most EFA connections of one file system; each EFA interface that a client's LNet takes is one."""
    families_over_tcp: tuple[str, ...]
    """Families of instances with EFA that reach a file system over TCP all the same: trn2, and those below Nitro v4.
    assumption: fsx-efa-nitro-v3-families"""
    systems: tuple[LustreEfaSystem, ...]
    """Operating systems whose clients can use EFA; those of any other use TCP."""
    interfaces: Mapping[str, int]
    """How many interfaces FSx's own script gives to LNet, by EC2's name of the type.
    assumption: lnet-efa-interfaces-on-p6-b300"""
    interfaces_of_several_cards: int
    """The same for another type with several network cards."""
    interfaces_of_one_card: int


lustre_variants = reader(tuple[LustreVariant, ...], "lustre", "variants")
"""Everything that the service sells, as a user guide would list it."""
lustre_limits = reader(LustreLimits, "lustre", "limits")
lustre_efa = reader(LustreEfa, "lustre", "efa")


def lustre_variant(deployment_type: str, storage_type: str) -> LustreVariant | None:
    """Return what is sold under both names; `None` where the two do not go together."""
    wanted = (deployment_type, storage_type)
    return next((v for v in lustre_variants() if (v.deployment_type, v.storage_type) == wanted), None)


def lustre_efa_interfaces(instance: Instance) -> int | None:
    """Return how many EFA interfaces a node of this type gives to LNet; `None` where no source tells.

    0: it has none, or FSx serves it over TCP only.
    """
    facts = lustre_efa()
    if instance.efa_interfaces == 0 or instance.family in facts.families_over_tcp:
        return 0
    listed = facts.interfaces.get(instance.name.removeprefix("ml."))
    if listed is not None or instance.network_cards is None:
        return listed
    return facts.interfaces_of_several_cards if instance.network_cards > 1 else facts.interfaces_of_one_card


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreNeedFacts:
    """Numbers to judge a file system by."""

    checkpoint_minutes: int
    """How long a checkpoint may take to be written: a rule of thumb, without a source."""
    scratch_mb_per_tib: int
    """MB/s that each TiB of a scratch file system has at all times."""
    gib_per_tib: int
    """How many GiB FSx counts as a TiB when it sells throughput."""


lustre_need_facts = reader(LustreNeedFacts, "lustre_need")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenZfsLimits:
    """Types, sizes and options of OpenZFS file systems on SSD."""

    throughputs: Mapping[str, Steps]
    """MB/s that each deployment type is sold with. Steps of the HA types are inferred, see the data file."""
    storage_capacity_gib: tuple[int, int]
    """Smallest and largest; any whole number between."""
    iops_per_gib: int
    """Disk IOPS that come with each GiB; more may be provisioned."""
    compressions: tuple[str, ...]
    record_sizes_kib: tuple[int, ...]
    backup_retention_days: int
    ports: tuple[tuple[int, int], ...]
    """Port ranges, TCP and UDP, that NFS clients use."""
    root_export_path: str
    """The path under which clients mount the root volume."""
    volume_name: str
    """A pattern of the names of other volumes: the characters of the API's `VolumePath`, without the slash."""
    volume_name_length: int


open_zfs_limits = reader(OpenZfsLimits, "openzfs")
