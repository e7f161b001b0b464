"""A Lustre file system that ParallelCluster is to make: what is sold, by the tables of the catalog."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.catalog.lustre import LustreVariant, lustre_variant
from llm_fleet.catalog.parallelcluster_schema import DEFAULT_LUSTRE_TYPE
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import nearest_of, words
from llm_fleet.rules.parallelcluster.fsx_options import check_backups, check_links, check_persistent
from llm_fleet.rules.parallelcluster.read_settings import read_settings
from llm_fleet.rules.parallelcluster.terms import StorageKind
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster import SharedStorage


def check_lustre(storage: SharedStorage) -> list[Problem]:
    """Check a Lustre file system that is to be made; one that exists has no settings."""
    if storage.kind != StorageKind.FSX_LUSTRE or storage.existing_id is not None or is_unresolved(storage.section):
        return []
    settings = read_settings(storage)
    problems = [*check_links(settings), *check_backups(settings)]
    if settings.get("BackupId") is not None:
        return problems  # size and throughput are the backup's
    problems += check_persistent(settings)
    variant = _variant(settings)
    if variant is None:
        return problems
    return [*problems, *_check_throughput(settings, variant), *_check_capacity(settings, variant)]


def _variant(settings: Mapping[str, Any]) -> LustreVariant | None:
    """What is sold; `None` where the words do not go together, which has its own problem."""
    deployment, media = settings.get("DeploymentType", DEFAULT_LUSTRE_TYPE), settings.get("StorageType", "SSD")
    return None if is_unresolved((deployment, media)) else lustre_variant(deployment, media)


def _check_throughput(settings: Mapping[str, Any], variant: LustreVariant) -> list[Problem]:
    """FsxPersistentOptionsValidator, FsxStorageTypeOptionsValidator."""
    value = settings.get("PerUnitStorageThroughput")
    if is_unresolved(value) or value in variant.throughputs or (value is None and not variant.throughputs):
        return []
    if not variant.throughputs:
        message, remedy = (
            f"the throughput of {variant.deployment_type} is fixed and cannot be asked for",
            "leave it out, or write DeploymentType: PERSISTENT_2",
        )
    elif value is None:
        message = f"{variant.deployment_type} is sold by its throughput, and there is none"
        remedy = f"write PerUnitStorageThroughput: {variant.throughputs[len(variant.throughputs) // 2]}"
    else:
        message = f"{variant.deployment_type} on {variant.storage_type} is not sold with {value} MB/s/TiB"
        below = max((each for each in variant.throughputs if each < value), default=None)
        above = min((each for each in variant.throughputs if each > value), default=None)
        remedy = nearest_of(below, above, "MB/s/TiB")
    return [
        Problem(
            code=Code.PC_FSX_THROUGHPUT,
            message=message,
            remedy=remedy,
            path=("settings", "PerUnitStorageThroughput"),
            value=value,
            allowed=f"{words(variant.throughputs)} MB/s/TiB" if variant.throughputs else "",
        )
    ]


def _check_capacity(settings: Mapping[str, Any], variant: LustreVariant) -> list[Problem]:
    """FsxStorageCapacityValidator."""
    value = settings.get("StorageCapacity")
    # A throughput that is not sold has its own problem; sizes are then judged by the first tier.
    tier = variant.tier(settings.get("PerUnitStorageThroughput")) or variant.tiers[0]
    if is_unresolved(value) or (isinstance(value, int) and tier.capacity.accepts(value)):
        return []
    at = f" at {tier.throughput} MB/s/TiB" if variant.storage_type == "HDD" else ""
    return [
        Problem(
            code=Code.PC_FSX_CAPACITY,
            message="a new Lustre file system needs a capacity, and there is none"
            if value is None
            else f"{variant.deployment_type}{at} is not sold in {value} GiB",
            remedy=f"write StorageCapacity: {tier.capacity.smallest}"
            if not isinstance(value, int)
            else nearest_of(*tier.capacity.nearest(value), "GiB"),
            path=("settings", "StorageCapacity"),
            value=value,
            allowed=tier.capacity.describe("GiB"),
        )
    ]
