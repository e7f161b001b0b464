"""Storage deployed to the AWS emulator, read with the services' APIs, and deleted."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

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
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.spec.storage import BucketSpec
from llm_fleet.storage.buckets import AccessLogBucket, DataBucket, FleetKey
from llm_fleet.storage.lustre import LustreFileSystem
from llm_fleet.storage.open_zfs import OpenZfsFileSystem
from llm_fleet_local.aws.client import LocalAws
from tests.clean import all_findings
from tools.synth_environment import cdk_context

ENVIRONMENT = cdk.Environment(account="123456789012", region="us-west-2")


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Storage in its own stack, with another stack for its network."""
    out = tmp_path_factory.mktemp("storage") / "cdk.out"
    app = cdk.App(context=cdk_context(), outdir=str(out))
    network = FleetNetwork(
        cdk.Stack(app, "Network", env=ENVIRONMENT),
        "Network",
        NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"]),
    )
    stack = cdk.Stack(app, "Storage", env=ENVIRONMENT)
    key = FleetKey(stack, "Key")
    corpus = DataBucket(stack, "Corpus", BucketSpec(encryption_key=key))
    linked = LustreFileSystem(
        stack,
        "Linked",
        LustreSpec(availability_zone_id="usw2-az1", storage_capacity_gib=4800, encryption_key=key),
        network=network,
    )
    linked.add_data_repository("Link", DataRepository(s3=corpus, prefix="books/", file_system_path="/books"))
    LustreFileSystem(stack, "Efa", LustreSpec(storage_capacity_gib=19200), network=network)
    OpenZfsFileSystem(stack, "Home", network=network).add_volume("apps", OpenZfsVolumeSpec(quota_gib=200))
    scratch = LustreFileSystem(
        stack,
        "Scratch",
        LustreSpec(deployment_type=LustreDeploymentType.SCRATCH_2),
        network=network,
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    assert not scratch.efa_enabled
    app.synth()
    return out


@pytest.fixture(scope="module")
def aws(assembly: Path) -> Generator[LocalAws]:
    with LocalAws(account="123456789012", region="us-west-2") as local:
        local.bootstrap()
        local.deploy(assembly)
        yield local


def file_systems(aws: LocalAws) -> dict[str, dict[str, Any]]:
    """Return each file system by the last part of its name."""
    found = aws.client("fsx").describe_file_systems()["FileSystems"]
    return {{t["Key"]: t["Value"] for t in fs["Tags"]}["Name"].rsplit("/", 1)[-1]: fs for fs in found}


def groups(aws: LocalAws) -> dict[str, dict[str, Any]]:
    return {group["Description"]: group for group in aws.client("ec2").describe_security_groups()["SecurityGroups"]}


def allowed(group: dict[str, Any], direction: str) -> set[tuple[str, str, int | None, int | None]]:
    """Peer, protocol, first and last port of each rule that names a group."""
    return {
        (pair["GroupId"], rule["IpProtocol"], rule.get("FromPort"), rule.get("ToPort"))
        for rule in group[direction]
        for pair in rule["UserIdGroupPairs"]
    }


def test_file_systems_have_the_given_settings(aws: LocalAws):
    found = file_systems(aws)
    assert found.keys() == {"Linked", "Efa", "Home", "Scratch"}
    assert {name: fs["StorageCapacity"] for name, fs in found.items()} == {
        "Linked": 4800,
        "Efa": 19200,
        "Home": 512,
        "Scratch": 1200,
    }
    assert found["Linked"]["LustreConfiguration"]["PerUnitStorageThroughput"] == 250
    assert found["Scratch"]["LustreConfiguration"]["DeploymentType"] == "SCRATCH_2"


def test_each_file_system_is_in_the_compute_subnet_of_its_az(aws: LocalAws):
    zones = {s["SubnetId"]: s["AvailabilityZoneId"] for s in aws.client("ec2").describe_subnets()["Subnets"]}
    found = {name: [zones[subnet] for subnet in fs["SubnetIds"]] for name, fs in file_systems(aws).items()}
    assert found == {"Linked": ["usw2-az1"], "Efa": ["usw2-az4"], "Home": ["usw2-az4"], "Scratch": ["usw2-az4"]}


def test_ports_between_nodes_and_lustre_are_open(aws: LocalAws):
    found = groups(aws)
    nodes = next(group for text, group in found.items() if text.startswith("Nodes and file systems"))
    own = found["FSx for Lustre: Linked"]
    ports = [("tcp", 988, 988), ("tcp", 1018, 1023)]
    for direction in ("IpPermissions", "IpPermissionsEgress"):
        assert allowed(own, direction) == {(g["GroupId"], *port) for g in (own, nodes) for port in ports}
        assert {(own["GroupId"], *port) for port in ports} <= allowed(nodes, direction)


def test_efa_allows_all_traffic_both_ways(aws: LocalAws):
    found = groups(aws)
    nodes = next(group for text, group in found.items() if text.startswith("Nodes and file systems"))
    own = found["FSx for Lustre: Efa"]
    for direction in ("IpPermissions", "IpPermissionsEgress"):
        assert {(peer, protocol) for peer, protocol, *_ in allowed(own, direction)} == {
            (own["GroupId"], "-1"),
            (nodes["GroupId"], "-1"),
        }
        assert (own["GroupId"], "-1") in {(peer, protocol) for peer, protocol, *_ in allowed(nodes, direction)}


def volumes(aws: LocalAws) -> dict[str, dict[str, Any]]:
    """Return the settings of each OpenZFS volume by the path that clients mount."""
    found = [volume["OpenZFSConfiguration"] for volume in aws.client("fsx").describe_volumes()["Volumes"]]
    return {settings["VolumePath"]: settings for settings in found}


def test_a_volume_has_the_nfs_exports_of_the_root_volume(aws: LocalAws):
    found = volumes(aws)
    assert found.keys() == {"/fsx", "/fsx/apps"}
    assert found["/fsx/apps"]["NfsExports"] == found["/fsx"]["NfsExports"]
    assert found["/fsx/apps"]["StorageCapacityQuotaGiB"] == 200


def test_the_bucket_rejects_plain_http_and_is_linked(aws: LocalAws):
    s3 = aws.client("s3")
    (name,) = (b["Name"] for b in s3.list_buckets()["Buckets"] if "corpus" in b["Name"])
    rule = s3.get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"]["Rules"][0]
    assert rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    assert "aws:SecureTransport" in s3.get_bucket_policy(Bucket=name)["Policy"]
    (link,) = aws.client("fsx").describe_data_repository_associations()["Associations"]
    assert link["DataRepositoryPath"] == f"s3://{name}/books/"
    assert link["FileSystemId"] == file_systems(aws)["Linked"]["FileSystemId"]


def test_deletion_retains_data_and_the_resources_that_it_depends_on(aws: LocalAws, assembly: Path):
    """Runs last: it deletes the stacks."""
    before = groups(aws)
    aws.destroy(assembly)
    assert file_systems(aws).keys() == {"Linked", "Efa", "Home"}
    assert volumes(aws).keys() == {"/fsx", "/fsx/apps"}
    left = groups(aws)
    assert before.keys() - left.keys() >= {"FSx for Lustre: Scratch"}
    assert {"FSx for Lustre: Linked", "FSx for Lustre: Efa", "FSx for OpenZFS: Home"} <= left.keys()
    own = left["FSx for Lustre: Linked"]
    assert allowed(own, "IpPermissions") == allowed(before["FSx for Lustre: Linked"], "IpPermissions")
    assert aws.client("fsx").describe_data_repository_associations()["Associations"]
    assert [b for b in aws.client("s3").list_buckets()["Buckets"] if "corpus" in b["Name"]]


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """All kinds of storage in their own stack, with another stack for the network."""
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
