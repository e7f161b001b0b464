"""FSx for Lustre and OpenZFS: allowed capacities and throughputs, compatible options, and what training needs."""

from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.data_file import Steps, reader
from llm_fleet.catalog.hyperpod import Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreTier:
    """One throughput of a deployment type, and its allowed capacities."""

    throughput: int | None
    """MB/s per TiB; `None` where it is fixed and cannot be set."""
    capacity: Steps
    """GiB."""
    efa_capacity: Steps | None = None
    """GiB with EFA enabled, in larger steps; `None` without EFA support. A step is the capacity of one file server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreVariant:
    """A deployment type with a storage type, and the options that FSx allows with both."""

    deployment_type: str
    storage_type: str
    tiers: tuple[LustreTier, ...]
    """Empty for elastic storage."""
    versions: tuple[str, ...]
    efa: bool
    own_key: bool
    backups: bool
    data_repositories: bool
    drive_cache: bool
    metadata_iops: Steps | None = None
    metadata_automatic: bool = False
    throughput_capacity: Steps | None = None
    """MB/s of the whole file system, where throughput is set that way."""

    @property
    def throughputs(self) -> tuple[int, ...]:
        """Allowed MB/s per TiB; empty where it is fixed."""
        return tuple(tier.throughput for tier in self.tiers if tier.throughput is not None)

    def tier(self, throughput: int | None) -> LustreTier | None:
        """Return the tier of `throughput`; `None` for an unknown throughput."""
        return next((tier for tier in self.tiers if tier.throughput == throughput), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreLimits:
    """Limits of all deployment types."""

    versions: tuple[str, ...]
    metadata_version: str
    """The only server version that supports a metadata configuration, which EFA requires."""
    compressions: tuple[str, ...]
    drive_caches: tuple[str, ...]
    read_cache_modes: tuple[str, ...]
    read_cache_gib_per_step: tuple[int, int]
    """Smallest and largest SSD read cache in GiB for every step of throughput capacity."""
    metadata_modes: tuple[str, ...]
    metadata_iops_per_server: int
    """Provisioned metadata IOPS of one metadata server."""
    automatic_metadata_gib_per_server: int
    """GiB of storage for which automatic mode provides one metadata server."""
    log_levels: tuple[str, ...]
    data_repositories: int
    """Maximum number of data repository associations of a file system."""
    data_repository_versions: tuple[str, ...]
    data_repository_events: tuple[str, ...]
    backup_retention_days: int
    ports: tuple[tuple[int, int], ...]
    """TCP port ranges between clients and servers, and among the servers."""
    regions_without_persistent_2: tuple[str, ...]
    """Regions that the user guide does not list. AWS adds regions, so this leads to a warning, not to an error."""
    regions_without_efa: tuple[str, ...]
    """Regions whose PERSISTENT_2 is listed without EFA, and with at most `throughput_without_efa`."""
    throughput_without_efa: int
    """MB/s per TiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreEfaSystem:
    """An operating system whose clients support EFA, with its minimum versions."""

    id: str
    """`ID` in `/etc/os-release`."""
    version: str
    """Minimum `VERSION_ID` in `/etc/os-release`."""
    kernel: str | None
    """Minimum kernel, where FSx documents one."""
    parallelcluster: tuple[str, ...]
    """ParallelCluster's names of operating systems whose images can have such a version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreEfa:
    """FSx's documented limits for EFA clients, for all deployment types."""

    connections: int
    """Maximum EFA connections of one file system; each EFA interface in a client's LNet is one connection."""
    families_over_tcp: tuple[str, ...]
    """Families with EFA that nevertheless use TCP to the file system: trn2, and those before Nitro v4.
    assumption: fsx-efa-nitro-v3-families"""
    systems: tuple[LustreEfaSystem, ...]
    """Operating systems whose clients can use EFA; all others use TCP."""
    interfaces: Mapping[str, int]
    """Number of interfaces that FSx's setup script adds to LNet, by EC2 instance type.
    assumption: lnet-efa-interfaces-on-p6-b300"""
    interfaces_of_several_cards: int
    """The same for all other types with several network cards."""
    interfaces_of_one_card: int


lustre_variants = reader(tuple[LustreVariant, ...], "lustre", "variants")
"""All combinations that FSx supports."""
lustre_limits = reader(LustreLimits, "lustre", "limits")
lustre_efa = reader(LustreEfa, "lustre", "efa")


def lustre_variant(deployment_type: str, storage_type: str) -> LustreVariant | None:
    """Return the variant with both types; `None` where FSx does not support the combination."""
    wanted = (deployment_type, storage_type)
    return next((v for v in lustre_variants() if (v.deployment_type, v.storage_type) == wanted), None)


def lustre_efa_interfaces(instance: Instance) -> int | None:
    """Return the number of EFA interfaces that a node of this type adds to LNet; `None` where no source has it.

    0: the type has no EFA, or FSx supports only TCP for it.
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
    """Numbers for checking whether a file system is fast enough."""

    checkpoint_minutes: int
    """Maximum minutes for writing a checkpoint: a rule of thumb, without a source."""
    scratch_mb_per_tib: int
    """Baseline MB/s of each TiB of a scratch file system."""
    gib_per_tib: int
    """GiB in one TiB when FSx calculates throughput."""


lustre_need_facts = reader(LustreNeedFacts, "lustre_need")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenZfsLimits:
    """Types, sizes and options of OpenZFS file systems on SSD."""

    throughputs: Mapping[str, Steps]
    """Allowed MB/s by deployment type. Steps of the HA types are inferred, see the data file."""
    storage_capacity_gib: tuple[int, int]
    """Minimum and maximum; all whole numbers between them are allowed."""
    iops_per_gib: int
    """Disk IOPS included with each GiB; more can be provisioned."""
    compressions: tuple[str, ...]
    record_sizes_kib: tuple[int, ...]
    backup_retention_days: int
    ports: tuple[tuple[int, int], ...]
    """Port ranges of NFS, TCP and UDP."""
    root_export_path: str
    """The export path of the root volume."""
    volume_name: str
    """A pattern for the names of other volumes: the characters of the API's `VolumePath`, without the slash."""
    volume_name_length: int


open_zfs_limits = reader(OpenZfsLimits, "openzfs")
