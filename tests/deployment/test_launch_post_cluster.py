"""What the services say of the launch post's cluster, once it is deployed to a local emulation."""

import hashlib
import subprocess
from collections.abc import Mapping
from datetime import datetime

import pytest
from botocore.exceptions import ClientError

from llm_fleet.catalog.data_file import load
from llm_fleet_local.aws.reachability import Place
from tests.deployment.fleet_on_aws import FleetOnAws
from tools.synth_environment import ROOT


def test_the_groups_are_those_of_the_post(launch_post: FleetOnAws):
    controller, workers = launch_post.group("controller-group"), launch_post.group("worker-group")
    assert (controller["InstanceType"], controller["TargetCount"]) == ("ml.m5.xlarge", 1)
    assert controller["SlurmConfig"] == {"NodeType": "Controller"}
    assert (workers["InstanceType"], workers["TargetCount"]) == ("ml.trn1.32xlarge", 4)
    assert workers["SlurmConfig"] == {"NodeType": "Compute", "PartitionNames": ["trn1"]}
    assert workers["ThreadsPerCore"] == 1


def test_the_cluster_is_provisioned_continuously_and_recovers(launch_post: FleetOnAws):
    cluster = launch_post.cluster
    assert cluster["ClusterStatus"] == "InService"
    assert (cluster["NodeProvisioningMode"], cluster["NodeRecovery"]) == ("Continuous", "Automatic")
    assert cluster["Orchestrator"] == {"Slurm": {}}


def test_every_node_is_listed(launch_post: FleetOnAws):
    nodes = launch_post.aws.client("sagemaker").list_cluster_nodes(ClusterName="ml-cluster")["ClusterNodeSummaries"]
    assert sorted(node["InstanceGroupName"] for node in nodes) == ["controller-group", *["worker-group"] * 4]


def test_every_group_mounts_the_file_system_that_exists(launch_post: FleetOnAws):
    expected = {
        "DnsName": launch_post.file_system["DNSName"],
        "MountName": launch_post.file_system["LustreConfiguration"]["MountName"],
        "MountPath": "/fsx",
    }
    for group in launch_post.cluster["InstanceGroups"]:
        assert group["InstanceStorageConfigs"] == [{"FsxLustreConfig": expected}]


def test_the_file_system_is_as_ordered_and_next_to_the_nodes(launch_post: FleetOnAws):
    system = launch_post.file_system
    lustre = system["LustreConfiguration"]
    assert (system["StorageCapacity"], lustre["PerUnitStorageThroughput"]) == (4800, 250)
    assert (lustre["DeploymentType"], system["FileSystemTypeVersion"]) == ("PERSISTENT_2", "2.15")
    assert lustre["DataCompressionType"] == "LZ4"
    assert system["SubnetIds"] == [launch_post.subnet_id]


@pytest.mark.parametrize("port", [988, 1018, 1023])
def test_nodes_and_file_system_reach_each_other(launch_post: FleetOnAws, port: int):
    node, server = launch_post.node, launch_post.file_server
    assert launch_post.reachability.port(node, server, port) == []
    assert launch_post.reachability.port(server, node, port) == []
    assert launch_post.reachability.port(server, server, port) == []


def test_the_file_system_is_closed_to_other_ports(launch_post: FleetOnAws):
    assert launch_post.reachability.port(launch_post.node, launch_post.file_server, 22) != []


def test_every_security_group_of_a_node_lets_efa_through(launch_post: FleetOnAws):
    for group in launch_post.node.groups:
        assert launch_post.reachability.efa(group) == []


def test_nodes_have_a_way_out_and_a_way_to_s3(launch_post: FleetOnAws):
    target = launch_post.reachability.default_route(launch_post.subnet_id)
    assert target is not None
    assert target.startswith("nat-")
    assert launch_post.reachability.gateway_endpoint(launch_post.subnet_id) is not None
    anywhere = Place(groups=())
    assert launch_post.reachability.sends(launch_post.node, anywhere, 443), "the storage stack adds rules outward"


def test_nodes_get_no_public_address(launch_post: FleetOnAws):
    subnets = launch_post.aws.client("ec2").describe_subnets(SubnetIds=[launch_post.subnet_id])["Subnets"]
    assert [subnet["MapPublicIpOnLaunch"] for subnet in subnets] == [False]


@pytest.fixture(scope="module")
def bundle(launch_post: FleetOnAws) -> Mapping[str, bytes]:
    """All that is under the bundle's prefix, read once: it is some hundreds of objects."""
    return launch_post.bundle_objects()


def test_the_bundle_holds_every_script_unchanged(bundle: Mapping[str, bytes]):
    tracked = subprocess.run(
        ["git", "ls-files", "lifecycle_scripts"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    # Hosts of inference services, notebooks and Studio get theirs in other ways.
    elsewhere = tuple(f"lifecycle_scripts/{folder}/" for folder in load("lifecycle")["services_folders"])
    scripts = {name.removeprefix("lifecycle_scripts/") for name in tracked if not name.startswith(elsewhere)}
    assert set(bundle) == scripts | {"fleet.json", "SHA256SUMS"}
    for name in scripts:
        assert bundle[name] == (ROOT / "lifecycle_scripts" / name).read_bytes()


def test_the_bundle_s_checksums_are_right(bundle: Mapping[str, bytes]):
    lines = bundle["SHA256SUMS"].decode().splitlines()
    reported = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    assert reported == {name: hashlib.sha256(bundle[name]).hexdigest() for name in reported}
    assert set(reported) >= set(bundle) - {"SHA256SUMS", "fleet.json"}


def test_the_manifest_has_the_values_that_only_the_deployment_knew(launch_post: FleetOnAws):
    (mount,) = launch_post.manifest["mounts"]
    assert mount["dns_name"] == launch_post.file_system["DNSName"]
    assert mount["mount_name"] == launch_post.file_system["LustreConfiguration"]["MountName"]
    assert "Token" not in launch_post.bundle_object("fleet.json").decode()


def test_the_bundle_is_complete_before_the_cluster_is_begun(launch_post: FleetOnAws):
    def moment(resource_type: str, status: str) -> datetime:
        return next(
            event["Timestamp"]
            for event in launch_post.aws.events("launch-post-ml-cluster")
            if event["ResourceType"].startswith(resource_type) and event["ResourceStatus"] == status
        )

    assert moment("Custom::", "CREATE_COMPLETE") <= moment("AWS::SageMaker::Cluster", "CREATE_IN_PROGRESS")


def test_nothing_is_only_recorded(launch_post: FleetOnAws):
    assert launch_post.aws.recorded() == []


def test_the_node_role_reads_the_bundle_and_can_neither_write_it_nor_read_another_bucket(launch_post: FleetOnAws):
    aws, (bucket, prefix) = launch_post.aws, launch_post.bundle
    aws.client("s3").create_bucket(
        Bucket="sagemaker-of-another-team", CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
    )
    aws.client("s3").put_object(Bucket="sagemaker-of-another-team", Key="secret", Body=b"theirs")
    with aws.as_role(launch_post.group("worker-group")["ExecutionRole"]) as client:
        s3 = client("s3")
        assert s3.get_object(Bucket=bucket, Key=f"{prefix}/on_init_complete.sh")["Body"].read()
        with pytest.raises(ClientError, match=r"Access ?Denied"):
            s3.put_object(Bucket=bucket, Key=f"{prefix}/on_init_complete.sh", Body=b"mine")
        with pytest.raises(ClientError, match=r"Access ?Denied"):
            s3.get_object(Bucket="sagemaker-of-another-team", Key="secret")
