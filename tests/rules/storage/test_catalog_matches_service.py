"""The catalog's tables match botocore's service model."""

import re
from functools import cache
from typing import Any

import pytest
from botocore.session import get_session

from llm_fleet.catalog.fsx import lustre_limits, lustre_variants, open_zfs_limits
from llm_fleet.spec.storage import LustreDeploymentType, LustreStorageType


@cache
def shapes() -> dict[str, Any]:
    loader = get_session().get_component("data_loader")
    return loader.load_service_model("fsx", "service-2")["shapes"]


def text(shape: str, member: str) -> str:
    """Return the documentation of a member in the service model, without markup."""
    return re.sub(r"<[^>]+>", "", shapes()[shape]["members"][member]["documentation"])


@pytest.mark.parametrize(
    ("shape", "values"),
    [
        ("LustreDeploymentType", {v.deployment_type for v in lustre_variants()}),
        ("StorageType", {v.storage_type for v in lustre_variants()}),
        ("DataCompressionType", set(lustre_limits().compressions)),
        ("DriveCacheType", set(lustre_limits().drive_caches)),
        ("LustreReadCacheSizingMode", set(lustre_limits().read_cache_modes)),
        ("MetadataConfigurationMode", set(lustre_limits().metadata_modes)),
        ("LustreAccessAuditLogLevel", set(lustre_limits().log_levels)),
        ("EventType", set(lustre_limits().data_repository_events)),
        ("OpenZFSDataCompressionType", set(open_zfs_limits().compressions)),
        # The rest of OpenZFS's types: over two AZs, which home directories of a cluster in one AZ do not need.
        ("OpenZFSDeploymentType", {*open_zfs_limits().throughputs, "MULTI_AZ_1"}),
    ],
)
def test_values_are_those_of_the_service(shape: str, values: set[str]):
    assert set(shapes()[shape]["enum"]) == values


def test_terms_are_those_of_the_service():
    assert set(LustreDeploymentType) == set(shapes()["LustreDeploymentType"]["enum"])
    assert set(LustreStorageType) == set(shapes()["StorageType"]["enum"])


def test_ranges_are_those_of_the_service():
    throughputs = [t for v in lustre_variants() for t in v.throughputs]
    bounds = shapes()["PerUnitStorageThroughput"]
    assert (min(throughputs), max(throughputs)) == (bounds["min"], bounds["max"])

    iops = [v.metadata_iops for v in lustre_variants() if v.metadata_iops]
    bounds = shapes()["MetadataIops"]
    assert min(steps.smallest for steps in iops) == bounds["min"]
    assert max(steps.most or 0 for steps in iops) == bounds["max"]

    whole = next(v.throughput_capacity for v in lustre_variants() if v.throughput_capacity)
    bounds = shapes()["ThroughputCapacityMbps"]
    assert (whole.smallest, whole.most) == (bounds["min"], bounds["max"])

    days = shapes()["AutomaticBackupRetentionDays"]["max"]
    assert lustre_limits().backup_retention_days == open_zfs_limits().backup_retention_days == days


@pytest.mark.parametrize("variant", [v for v in lustre_variants() if v.throughputs], ids=str)
def test_throughputs_are_those_of_the_service(variant: Any):
    said = text("CreateFileSystemLustreConfiguration", "PerUnitStorageThroughput")
    listed = ", ".join(map(str, variant.throughputs))
    assert f"For {variant.deployment_type} {variant.storage_type} storage: {listed} MB/s/TiB" in said


def test_capacities_are_those_of_the_service():
    said = text("CreateFileSystemRequest", "StorageCapacity")
    assert "For SCRATCH_2, PERSISTENT_2, and PERSISTENT_1 deployment types using SSD" in said
    steps = {(v.deployment_type, v.storage_type, t.throughput): t.capacity for v in lustre_variants() for t in v.tiers}
    for (deployment, storage, _), ladder in steps.items():
        if deployment != "SCRATCH_1" and storage == "SSD":
            assert (ladder.single, ladder.step) == ((1200,), 2400)
    assert "1200 GiB, 2400 GiB, and increments of 2400 GiB" in said
    scratch = steps["SCRATCH_1", "SSD", None]
    assert (
        f"For SCRATCH_1 deployment type, valid values are {scratch.single[0]} GiB, {scratch.single[1]} GiB, and "
        in (said)
    )
    assert f"increments of {scratch.step} GiB" in said
    for throughput in (12, 40):
        assert f"increments of {steps['PERSISTENT_1', 'HDD', throughput].step} GiB for {throughput} MB/s/TiB" in said


def test_metadata_iops_are_those_of_the_service():
    said = text("CreateFileSystemLustreMetadataConfiguration", "Iops")
    ssd, tiering = (v.metadata_iops for v in lustre_variants() if v.metadata_iops)
    assert ssd
    assert f"{', '.join(map(str, ssd.single))}, and multiples of {ssd.step} up to a maximum of {ssd.most}" in said
    assert tiering
    assert f"valid values are {tiering.single[0]} and {tiering.single[1]}" in said


def test_open_zfs_throughputs_are_those_of_the_service():
    said = text("CreateFileSystemOpenZFSConfiguration", "ThroughputCapacity")
    ladders = open_zfs_limits().throughputs
    *others, last = map(str, ladders["SINGLE_AZ_2"].single)
    assert f"SINGLE_AZ_2, valid values are {', '.join(others)}, or {last} MBps" in said
    *others, last = map(str, ladders["SINGLE_AZ_1"].single)
    assert f"SINGLE_AZ_1, valid values are {', '.join(others)}, or {last} MBps" in said


@pytest.mark.parametrize("deployment_type", open_zfs_limits().throughputs)
def test_open_zfs_throughputs_of_ha_types_are_in_the_range_of_the_service(deployment_type: str):
    """The documentation of the HA types in the service model; their steps are inferred."""
    said = text("CreateFileSystemOpenZFSConfiguration", "DeploymentType")
    match = re.search(rf"{deployment_type} ?- [^.]*?throughput capacities of ([\d,]+) - ([\d,]+) ?MB", said)
    assert match
    steps = open_zfs_limits().throughputs[deployment_type].single
    assert [int(number.replace(",", "")) for number in match.groups()] == [steps[0], steps[-1]]
