"""IP addresses of a Lustre file system, its availability in regions, and the use of EFA by its clients."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from llm_fleet.catalog.fsx import LustreVariant, lustre_efa, lustre_efa_interfaces, lustre_limits
from llm_fleet.catalog.hyperpod import facts_of
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.storage import LustreDeploymentType, LustreSpec


def lustre_addresses(spec: LustreSpec, *, region: str | None = None) -> int | None:
    """Return the number of file servers, each of which has an IP address; `None` when unknown.

    `region`: default, one with all features of FSx for Lustre.

    Source: FSx for Lustre User Guide, IP addresses for file systems: one for each storage server, which has one step
    of capacity, and one for each metadata server.
    """
    variant = spec.variant
    if variant is None:
        return None
    storage = _storage_servers(spec, variant, region)
    metadata = _metadata_servers(spec, variant)
    return None if storage is None or metadata is None else storage + metadata


def lustre_claim(
    spec: LustreSpec,
    *,
    owner: str,
    availability_zone_id: str | None = None,
    region: str | None = None,
    in_file: bool = False,
) -> AddressClaim:
    """Return the claim of the file system in its compute subnet; the minimum of any file system when unknown.

    `owner`: the file system as the user named it; with `in_file`, its path in the fleet file.
    """
    addresses, what = lustre_addresses(spec, region=region), "FSx for Lustre"
    elastic = spec.variant is not None and spec.variant.throughput_capacity is not None
    attribute = "throughput" if elastic else "storage_capacity_gib"
    size = f"`{owner}.{spec.key_of(attribute)}`" if in_file else f"`{attribute}` of {owner}"
    if addresses is None:
        return AddressClaim.for_file_system(owner=owner, what=what, availability_zone_id=availability_zone_id)
    return AddressClaim(
        owner=owner,
        what=what,
        count=1,
        addresses_each=addresses,
        availability_zone_id=availability_zone_id,
        smaller=f"a smaller {size}",
    )


def _storage_servers(spec: LustreSpec, variant: LustreVariant, region: str | None) -> int | None:
    if variant.throughput_capacity is not None:
        amount, step = spec.effective_throughput_capacity, variant.throughput_capacity.step
    else:
        tier = variant.tier(spec.effective_throughput)
        steps = tier and (tier.efa_capacity if spec.effective_efa(region) else tier.capacity)
        amount, step = spec.effective_capacity_gib, steps.step if steps else None
    if amount is None or step is None or is_unresolved(amount):
        return None
    return ceil(amount / step)


def _metadata_servers(spec: LustreSpec, variant: LustreVariant) -> int | None:
    limits = lustre_limits()
    iops, capacity = spec.metadata_iops, spec.effective_capacity_gib
    if variant.metadata_iops is None or spec.version != limits.metadata_version:
        return 1
    if iops is not None:
        return None if is_unresolved(iops) else ceil(iops / limits.metadata_iops_per_server)
    if capacity is None:
        return 1
    return None if is_unresolved(capacity) else max(1, capacity // limits.automatic_metadata_gib_per_server)


def doubt_about_region(spec: LustreSpec, region: str | None) -> str | None:
    """Return a warning when the region may not support this file system; `None` when it does.

    It is not an error: regions get new deployment types faster than the catalog is updated.
    """
    limits = lustre_limits()
    if spec.deployment_type != LustreDeploymentType.PERSISTENT_2 or region is None:
        return None
    if region in limits.regions_without_persistent_2:
        return (
            f"FSx for Lustre is not known to support PERSISTENT_2 in {region}: if creation fails, use PERSISTENT_1 or "
            "SCRATCH_2"
        )
    if region not in limits.regions_without_efa:
        return None
    if spec.efa_enabled:
        return f"FSx for Lustre is not known to support EFA in {region}: if creation fails, remove efa_enabled"
    most = limits.throughput_without_efa
    if (spec.effective_throughput or 0) > most:
        return f"FSx for Lustre is not known to support more than {most} MB/s/TiB in {region}: use it if creation fails"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class EfaClients:
    """Nodes of one group or queue that mount the file system."""

    name: str
    """Name of the group or queue, as the user wrote it."""
    instance_types: Sequence[str]
    """With or without `ml.`."""
    nodes: int
    """The maximum number of nodes."""
    efa: bool = True
    """Whether EFA interfaces are attached, if the instance type has any."""
    system: str | None = None
    """ParallelCluster's name of their operating system; `None` when it is unknown before they start."""


def why_efa_is_unused(clients: Sequence[EfaClients]) -> str | None:
    """Return why no node of a cluster can use EFA to the file system; `None` when one can, or it is unknown."""
    most = [_interfaces(group) for group in clients]
    if not clients or any(number is None or number > 0 for number in most):
        return None
    named = ", ".join(f"{group.name} ({' or '.join(group.instance_types)})" for group in clients)
    refused = sorted({group.system for group in clients if group.system is not None and _is_refused(group.system)})
    why = (
        f"It supports only TCP with {', '.join(refused)}; EFA requires one of {', '.join(_systems())}"
        if refused
        else "FSx for Lustre supports only TCP for trn2 and for instance types older than Nitro v4"
    )
    return (
        "EFA of the Lustre file system has no effect, and requires much larger capacity steps: no node of the cluster "
        f"can use it: {named}. {why}. Disable EFA (efa: false in the fleet file, efa_enabled=False in Python) before "
        "the file system is created: it cannot be changed later"
    )


def connections(clients: Sequence[EfaClients]) -> int:
    """Return the maximum number of EFA connections of the nodes; unknown instance types are not counted."""
    return sum(
        (_interfaces(group) or 0) * group.nodes
        for group in clients
        if not is_unresolved(group.nodes) and group.nodes > 0
    )


def why_too_many_connections(clients: Sequence[EfaClients], *, elsewhere: int) -> str | None:
    """Return a warning when nodes of a cluster open more EFA connections than the file system supports, or `None`.

    `elsewhere`: connections of the nodes of the app's other clusters.
    """
    most, opened = lustre_efa().connections, connections(clients)
    if opened + elsewhere <= most:
        return None
    groups = ", ".join(
        f"{group.name} {_interfaces(group)} on each of {group.nodes} nodes" for group in clients if _interfaces(group)
    )
    others = f", in addition to {elsewhere} from other clusters" if elsewhere else ""
    return (
        f"the cluster opens up to {opened} EFA connections to the Lustre file system{others}, which supports {most}: "
        f"{groups}. Additional nodes use TCP and are reported as degraded (LFN52). Mount it on fewer nodes, or use "
        "another file system for some groups"
    )


def _interfaces(group: EfaClients) -> int | None:
    """Return the maximum number of a node's EFA interfaces for LNet; `None` when it is unknown for a type."""
    if not group.efa or (group.system is not None and _is_refused(group.system)):
        return 0
    facts = [None if is_unresolved(name) else facts_of(_called(name)) for name in group.instance_types]
    numbers = [None if one is None else lustre_efa_interfaces(one) for one in facts]
    return None if None in numbers or not numbers else max(number for number in numbers if number is not None)


def _is_refused(system: str) -> bool:
    return system not in _systems()


def _systems() -> list[str]:
    return [name for system in lustre_efa().systems for name in system.parallelcluster]


def _called(name: str) -> str:
    """Return the catalog's name. A type that was made by `InstanceType.of` keeps its own facts."""
    return name if name.startswith("ml.") else f"ml.{name}"
