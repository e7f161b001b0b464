"""What storage synthesizes passes every checker that a careful user would run."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_logs as logs

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.storage.access_log_bucket import AccessLogBucket
from llm_fleet.storage.data_bucket import DataBucket
from llm_fleet.storage.fleet_key import FleetKey
from llm_fleet.storage.lustre_file_system import LustreFileSystem
from llm_fleet.storage.open_zfs_file_system import OpenZfsFileSystem
from tests.clean import all_findings


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """All that storage has, in a stack of its own beside that of the network."""
    key = FleetKey(stack, "Key", alias="alias/fleet")
    network = FleetNetwork(stack, "Network", availability_zone_ids=["usw2-az4"], encryption_key=key)
    access_logs = AccessLogBucket(stack, "AccessLogs")
    data = DataBucket(stack, "Data", encryption_key=key, access_log_bucket=access_logs)
    DataBucket(stack, "Models")
    events = logs.LogGroup(stack, "Events", log_group_name="/aws/fsx/fleet", encryption_key=key)
    fsx = LustreFileSystem(
        stack, "Fsx", network=network, storage_capacity_gib=19200, encryption_key=key, log_group=events
    )
    fsx.add_data_repository("Corpus", bucket=data, prefix="corpus/", file_system_path="/corpus")
    LustreFileSystem(stack, "Scratch", network=network, deployment_type="SCRATCH_2")
    LustreFileSystem(stack, "Cold", network=network, storage_type="INTELLIGENT_TIERING", encryption_key=key)
    LustreFileSystem(stack, "Slow", network=network, deployment_type="PERSISTENT_1", storage_type="HDD")
    OpenZfsFileSystem(stack, "Home", network=network, encryption_key=key).add_volume("apps", quota_gib=200)
    return stack


def test_no_checker_finds_anything(app: cdk.App, everything: cdk.Stack):
    assert all_findings(app) == []
