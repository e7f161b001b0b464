"""How many addresses of its subnet a Lustre file system takes."""

from math import ceil

from llm_fleet.catalog.lustre import LustreVariant, lustre_limits
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.tokens import is_unresolved


def lustre_addresses(settings: LustreSettings) -> int | None:
    """Return the number of file servers, each of which has an address; `None` when it cannot be told.

    Source: FSx for Lustre User Guide, IP addresses for file systems: one for each storage server, which holds one step
    of capacity, and one for each metadata server.
    """
    variant = settings.variant
    if variant is None:
        return None
    storage = _storage_servers(settings, variant)
    metadata = _metadata_servers(settings, variant)
    return None if storage is None or metadata is None else storage + metadata


def lustre_claim(settings: LustreSettings, *, owner: str, availability_zone_id: str | None = None) -> AddressClaim:
    """Return what the file system takes of its compute subnet; the least that any takes when it cannot be told.

    `owner` says whose it is in the user's words. Used by the fleet file and the construct alike.
    """
    addresses, what = lustre_addresses(settings), "FSx for Lustre"
    if addresses is None:
        return AddressClaim.for_file_system(owner=owner, what=what, availability_zone_id=availability_zone_id)
    return AddressClaim(
        owner=owner, what=what, count=1, addresses_each=addresses, availability_zone_id=availability_zone_id
    )


def _storage_servers(settings: LustreSettings, variant: LustreVariant) -> int | None:
    if variant.throughput_capacity is not None:
        amount, step = settings.effective_throughput_capacity, variant.throughput_capacity.step
    else:
        tier = variant.tier(settings.effective_throughput)
        steps = tier and (tier.efa_capacity if settings.effective_efa else tier.capacity)
        amount, step = settings.effective_capacity_gib, steps.step if steps else None
    if amount is None or step is None or is_unresolved(amount):
        return None
    return ceil(amount / step)


def _metadata_servers(settings: LustreSettings, variant: LustreVariant) -> int | None:
    limits = lustre_limits()
    iops, capacity = settings.metadata_iops, settings.effective_capacity_gib
    if variant.metadata_iops is None or settings.version != limits.metadata_version:
        return 1
    if iops is not None:
        return None if is_unresolved(iops) else ceil(iops / limits.metadata_iops_per_server)
    if capacity is None:
        return 1
    return None if is_unresolved(capacity) else max(1, capacity // limits.automatic_metadata_gib_per_server)
