"""How big and how fast a Lustre file system may be."""

from llm_fleet.catalog.lustre import LustreVariant
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import nearest_of, words
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_throughput(settings: LustreSettings, variant: LustreVariant) -> list[Problem]:
    """Return a problem unless the deployment type is sold with this throughput per TiB."""
    value = settings.per_unit_storage_throughput
    if value is None or is_unresolved(value) or value in variant.throughputs:
        return []
    if not variant.throughputs:
        elastic = variant.throughput_capacity is not None
        return [
            Problem(
                code=Code.LUSTRE_THROUGHPUT,
                path=("per_unit_storage_throughput",),
                value=value,
                message=f"the throughput of {_name(variant)} does not go by the TiB"
                if elastic
                else f"the throughput of {variant.deployment_type} is fixed and cannot be asked for",
                remedy="set the throughput of the whole file system in MB/s (throughput_capacity) instead"
                if elastic
                else "leave it out, or use PERSISTENT_2 to choose a throughput",
            )
        ]
    below = max((t for t in variant.throughputs if t < value), default=None)
    above = min((t for t in variant.throughputs if t > value), default=None)
    return [
        Problem(
            code=Code.LUSTRE_THROUGHPUT,
            path=("per_unit_storage_throughput",),
            value=value,
            message=f"{_name(variant)} is not sold with {value} MB/s/TiB",
            allowed=f"{words(variant.throughputs)} MB/s/TiB",
            remedy=nearest_of(below, above, "MB/s/TiB"),
        )
    ]


def check_capacity(settings: LustreSettings, variant: LustreVariant) -> list[Problem]:
    """Return a problem unless the deployment type, with its throughput, is sold in this size."""
    value = settings.storage_capacity_gib
    if value is None or is_unresolved(value):
        return []
    if not variant.tiers:
        return [
            Problem(
                code=Code.LUSTRE_CAPACITY,
                path=("storage_capacity_gib",),
                value=value,
                message=f"{_name(variant)} is elastic and takes no capacity",
                remedy="leave the size out, or use SSD storage",
            )
        ]
    # A throughput that is not sold has its own problem; sizes are then judged by the first tier.
    tier = variant.tier(settings.effective_throughput) or variant.tiers[0]
    if tier.capacity.accepts(value):
        return []
    with_throughput = f" with {tier.throughput} MB/s/TiB" if variant.storage_type == "HDD" else ""
    return [
        Problem(
            code=Code.LUSTRE_CAPACITY,
            path=("storage_capacity_gib",),
            value=value,
            message=f"{_name(variant)}{with_throughput} is not sold in {value} GiB",
            allowed=tier.capacity.describe("GiB"),
            remedy=nearest_of(*tier.capacity.nearest(value), "GiB"),
        )
    ]


def check_throughput_capacity(settings: LustreSettings, variant: LustreVariant) -> list[Problem]:
    """Return a problem unless the whole file system is sold with this throughput."""
    value, steps = settings.throughput_capacity, variant.throughput_capacity
    if value is None or is_unresolved(value) or (steps is not None and steps.accepts(value)):
        return []
    return [
        Problem(
            code=Code.LUSTRE_THROUGHPUT,
            path=("throughput_capacity",),
            value=value,
            message=f"{_name(variant)} is not sold with {value} MB/s"
            if steps
            else f"the throughput of {_name(variant)} is not set for the whole file system",
            allowed=steps.describe("MB/s") if steps else "",
            remedy=nearest_of(*steps.nearest(value), "MB/s") if steps else "leave it out",
        )
    ]


def _name(variant: LustreVariant) -> str:
    """`PERSISTENT_2` for SSD storage, which is what everyone means by it, else with the storage type."""
    return variant.deployment_type + ("" if variant.storage_type == "SSD" else f" on {variant.storage_type} storage")
