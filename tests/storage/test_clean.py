"""What storage synthesizes passes every checker that a careful user would run."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_logs as logs

from llm_fleet import (
    DataRepository,
    LustreDeploymentType,
    LustreSpec,
    LustreStorageType,
    OpenZfsSpec,
    OpenZfsVolumeSpec,
)
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.spec.buckets import BucketSpec
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.storage.buckets import AccessLogBucket, DataBucket
from llm_fleet.storage.fleet_key import FleetKey
from llm_fleet.storage.lustre import LustreFileSystem
from llm_fleet.storage.open_zfs import OpenZfsFileSystem
from tests.clean import all_findings


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """All that storage has, in a stack of its own beside that of the network."""
    key = FleetKey(stack, "Key", alias="alias/fleet")
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]), encryption_key=key)
    access_logs = AccessLogBucket(stack, "AccessLogs")
    data = DataBucket(stack, "Data", BucketSpec(encryption_key=key), access_log_bucket=access_logs)
    DataBucket(stack, "Models")
    events = logs.LogGroup(stack, "Events", log_group_name="/aws/fsx/fleet", encryption_key=key)
    fsx = LustreFileSystem(
        stack, "Fsx", LustreSpec(storage_capacity_gib=19200, encryption_key=key, log_group=events), network=network
    )
    fsx.add_data_repository("Corpus", DataRepository(s3=data, prefix="corpus/", file_system_path="/corpus"))
    LustreFileSystem(stack, "Scratch", LustreSpec(deployment_type=LustreDeploymentType.SCRATCH_2), network=network)
    LustreFileSystem(
        stack,
        "Cold",
        LustreSpec(storage_type=LustreStorageType.INTELLIGENT_TIERING, encryption_key=key),
        network=network,
    )
    LustreFileSystem(
        stack,
        "Slow",
        LustreSpec(deployment_type=LustreDeploymentType.PERSISTENT_1, storage_type=LustreStorageType.HDD),
        network=network,
    )
    OpenZfsFileSystem(stack, "Home", OpenZfsSpec(encryption_key=key), network=network).add_volume(
        "apps", OpenZfsVolumeSpec(quota_gib=200)
    )
    return stack


def test_no_checker_finds_anything(app: cdk.App, everything: cdk.Stack):
    assert all_findings(app) == []
