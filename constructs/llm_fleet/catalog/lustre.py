"""FSx for Lustre: deployment types, steps of capacity and throughput, what goes with what, and what training needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.instances import Instance
from llm_fleet.catalog.limit import Steps, frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreTier:
    """One throughput of a deployment type, and the capacities that it comes in."""

    throughput: int | None
    """MB/s per TiB; `None` where it is fixed and may not be asked for."""
    capacity: Steps
    """GiB."""
    efa_capacity: Steps | None
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
    metadata_iops: Steps | None
    metadata_automatic: bool
    throughput_capacity: Steps | None
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


@cache
def lustre_variants() -> tuple[LustreVariant, ...]:
    """Return everything that the service sells, as a user guide would list it."""
    return tuple(_variant(facts) for facts in load("lustre")["variants"])


def lustre_variant(deployment_type: str, storage_type: str) -> LustreVariant | None:
    """Return what is sold under both names; `None` where the two do not go together."""
    wanted = (deployment_type, storage_type)
    return next((v for v in lustre_variants() if (v.deployment_type, v.storage_type) == wanted), None)


@cache
def lustre_limits() -> LustreLimits:
    """Return what holds for every deployment type."""
    facts: dict[str, Any] = {name: frozen(value) for name, value in load("lustre")["limits"].items()}
    return LustreLimits(**facts)


@cache
def lustre_efa() -> LustreEfa:
    """Return what FSx says of clients over EFA."""
    facts: dict[str, Any] = {name: frozen(value) for name, value in load("lustre")["efa"].items()}
    systems: list[dict[str, Any]] = [
        {**one, "parallelcluster": tuple(one["parallelcluster"])} for one in facts.pop("systems")
    ]
    return LustreEfa(**facts, systems=tuple(LustreEfaSystem(**one) for one in systems))


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


def _variant(facts: Mapping[str, Any]) -> LustreVariant:
    return LustreVariant(
        deployment_type=facts["deployment_type"],
        storage_type=facts["storage_type"],
        tiers=tuple(_tier(tier) for tier in facts["tiers"]),
        versions=tuple(facts["versions"]),
        metadata_iops=Steps.of(facts.get("metadata_iops")),
        metadata_automatic=facts.get("metadata_automatic", False),
        throughput_capacity=Steps.of(facts.get("throughput_capacity")),
        **{flag: facts[flag] for flag in ("efa", "own_key", "backups", "data_repositories", "drive_cache")},
    )


def _tier(facts: Mapping[str, Any]) -> LustreTier:
    capacity = Steps.of(facts["capacity"])
    assert capacity is not None
    return LustreTier(
        throughput=facts["throughput"], capacity=capacity, efa_capacity=Steps.of(facts.get("efa_capacity"))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreNeedFacts:
    """Numbers to judge a file system by."""

    checkpoint_minutes: int
    """How long a checkpoint may take to be written: a rule of thumb, without a source."""
    scratch_mb_per_tib: int
    """MB/s that each TiB of a scratch file system has at all times."""
    gib_per_tib: int
    """How many GiB FSx counts as a TiB when it sells throughput."""


@cache
def lustre_need_facts() -> LustreNeedFacts:
    """Return the facts, read once a process."""
    return LustreNeedFacts(**load("lustre_need"))
