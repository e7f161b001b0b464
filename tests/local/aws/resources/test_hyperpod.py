"""HyperPod clusters: every field is kept and returned, the service's rules are applied, updates are in place."""

import copy
import json
from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import Created, ReplacementNeeded, ResourceFailed
from tests.local.aws.resources.support import Deployer, Network, trust

TYPE = "AWS::SageMaker::Cluster"


class Fleet:
    """The dependencies of a cluster, and the properties of the launch post's cluster."""

    def __init__(self, deployer: Deployer, network: Network) -> None:
        deployer.create("AWS::IAM::Role", RoleName="Node", AssumeRolePolicyDocument=trust("sagemaker.amazonaws.com"))
        deployer.create("AWS::S3::Bucket", BucketName="sagemaker-fleet")
        for name in ("on_init_complete.sh", "on_create.sh"):
            deployer.client("s3").put_object(Bucket="sagemaker-fleet", Key=f"abc/{name}", Body=b"#!/bin/sh\n")
        self.file_system = deployer.create("AWS::FSx::FileSystem", **network.lustre())
        self.network = network

    def properties(self) -> dict[str, Any]:
        lustre = {
            "DnsName": self.file_system.attributes["DNSName"],
            "MountName": self.file_system.attributes["LustreMountName"],
            "MountPath": "/fsx",
        }
        common = {
            "ExecutionRole": "arn:aws:iam::123456789012:role/Node",
            "LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-fleet/abc", "OnInitComplete": "on_init_complete.sh"},
            "InstanceStorageConfigs": [{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}, {"FsxLustreConfig": lustre}],
        }
        controller = {
            "InstanceGroupName": "controller-group",
            "InstanceType": "ml.m5.xlarge",
            "InstanceCount": 1,
            "SlurmConfig": {"NodeType": "Controller"},
        }
        worker = {
            "InstanceGroupName": "worker-group",
            "InstanceType": "ml.trn1.32xlarge",
            "InstanceCount": 4,
            "MinInstanceCount": 2,
            "SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["trn1"]},
        }
        return {
            "ClusterName": "ml-cluster",
            "InstanceGroups": [copy.deepcopy(group | common) for group in (controller, worker)],
            "VpcConfig": {"Subnets": [self.network.subnet], "SecurityGroupIds": [self.network.group]},
            "Orchestrator": {"Slurm": {}},
            "NodeRecovery": "Automatic",
            "NodeProvisioningMode": "Continuous",
            "Tags": [{"Key": "team", "Value": "ml"}],
        }


@pytest.fixture
def fleet(deployer: Deployer, network: Network) -> Fleet:
    return Fleet(deployer, network)


def described(deployer: Deployer, created: Created) -> dict[str, Any]:
    return deployer.client("sagemaker").describe_cluster(ClusterName=created.physical_id)


def nodes(deployer: Deployer, group: str = "") -> list[str]:
    found = deployer.client("sagemaker").list_cluster_nodes(ClusterName="ml-cluster")["ClusterNodeSummaries"]
    return [node["InstanceId"] for node in found if group in node["InstanceGroupName"]]


def test_every_field_is_reported_as_requested(deployer: Deployer, fleet: Fleet) -> None:
    requested = fleet.properties()
    requested["InstanceGroups"][1]["ThreadsPerCore"] = "2"  # a parameter's value is a string
    created = deployer.create(TYPE, **requested)
    found = described(deployer, created)
    for name in ("ClusterName", "VpcConfig", "Orchestrator", "NodeRecovery", "NodeProvisioningMode"):
        assert found[name] == requested[name]
    worker = found["InstanceGroups"][1]
    for name in ("InstanceType", "LifeCycleConfig", "InstanceStorageConfigs", "SlurmConfig", "ExecutionRole"):
        assert worker[name] == requested["InstanceGroups"][1][name]
    assert (worker["CurrentCount"], worker["TargetCount"], worker["MinCount"]) == (4, 4, 2)
    assert worker["ThreadsPerCore"] == 2
    assert "ThreadsPerCore" not in found["InstanceGroups"][0]
    assert found["ClusterArn"] == created.physical_id == created.attributes["ClusterArn"]
    assert len(found["ClusterArn"].rsplit("/", 1)[-1]) == 12
    tags = deployer.client("sagemaker").list_tags(ResourceArn=created.physical_id)["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"team": "ml", "fleet": "test"}


def test_nodes_have_network_interfaces(deployer: Deployer, fleet: Fleet) -> None:
    deployer.create(TYPE, **fleet.properties())
    worker = nodes(deployer, "worker-group")[0]
    client = deployer.client("sagemaker")
    reported = client.describe_cluster_node(ClusterName="ml-cluster", NodeId=worker)["NodeDetails"]
    interfaces = deployer.client("ec2").describe_network_interfaces(
        Filters=[{"Name": "private-ip-address", "Values": [reported["PrivatePrimaryIp"]]}]
    )["NetworkInterfaces"]
    assert reported["InstanceType"] == "ml.trn1.32xlarge"
    assert reported["Placement"]["AvailabilityZoneId"] == "usw2-az2"
    assert [one["SubnetId"] for one in interfaces] == [fleet.network.subnet]
    assert [group["GroupId"] for group in interfaces[0]["Groups"]] == [fleet.network.group]


def test_without_life_cycle_threads_vpc_or_slurm(deployer: Deployer, fleet: Fleet) -> None:
    group = fleet.properties()["InstanceGroups"][0]
    for name in ("LifeCycleConfig", "InstanceStorageConfigs", "SlurmConfig"):
        del group[name]
    created = deployer.create(TYPE, InstanceGroups=[group | {"InstanceType": "ml.trn2.48xlarge"}])
    assert described(deployer, created)["ClusterName"].startswith("Fleet-Thing-")


def test_an_update_scales_adds_and_deletes_groups_in_place(deployer: Deployer, fleet: Fleet) -> None:
    old = fleet.properties()
    created = deployer.create(TYPE, **old)
    controller, workers = nodes(deployer, "controller-group"), nodes(deployer, "worker-group")
    new = copy.deepcopy(old)
    new["InstanceGroups"][1]["InstanceCount"] = 2
    new["InstanceGroups"][0]["LifeCycleConfig"]["SourceS3Uri"] = "s3://sagemaker-fleet/abc/"
    new["InstanceGroups"].append(new["InstanceGroups"][1] | {"InstanceGroupName": "more", "MinInstanceCount": 0})
    new["Tags"] = [{"Key": "team", "Value": "research"}]
    updated = deployer.update(TYPE, created, old, new)
    assert updated.physical_id == created.physical_id
    assert nodes(deployer, "controller-group") == controller
    assert nodes(deployer, "worker-group") == workers[:2]
    assert len(nodes(deployer, "more")) == 2
    groups = described(deployer, created)["InstanceGroups"]
    assert groups[0]["LifeCycleConfig"]["SourceS3Uri"] == "s3://sagemaker-fleet/abc/"
    tags = deployer.client("sagemaker").list_tags(ResourceArn=created.physical_id)["Tags"]
    assert {"Key": "team", "Value": "research"} in tags

    deployer.update(TYPE, created, new, old)
    assert [group["InstanceGroupName"] for group in described(deployer, created)["InstanceGroups"]] == [
        "controller-group",
        "worker-group",
    ]
    assert not nodes(deployer, "more")


def test_another_network_or_name_is_another_cluster(deployer: Deployer, fleet: Fleet) -> None:
    old = fleet.properties()
    created = deployer.create(TYPE, **old)
    for change in (
        {"ClusterName": "other"},
        {"VpcConfig": old["VpcConfig"] | {"Subnets": ["subnet-0aaaaaaaaaaaaaaaa"]}},
    ):
        with pytest.raises(ReplacementNeeded):
            deployer.update(TYPE, created, old, old | change)


def test_a_group_keeps_its_subnets_and_its_node_type(deployer: Deployer, fleet: Fleet) -> None:
    old = fleet.properties()
    created = deployer.create(TYPE, **old)
    moved = copy.deepcopy(old)
    moved["InstanceGroups"][1]["OverrideVpcConfig"] = old["VpcConfig"]
    with pytest.raises(ResourceFailed, match="OverrideVpcConfig of worker-group cannot be updated"):
        deployer.update(TYPE, created, old, moved)
    login = copy.deepcopy(old)
    login["InstanceGroups"][1]["SlurmConfig"] = {"NodeType": "Login"}
    with pytest.raises(ResourceFailed, match="NodeType of worker-group cannot be updated"):
        deployer.update(TYPE, created, old, login)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((1, "InstanceType"), "ml.trn2.48xlarge", "InstanceType of worker-group cannot be updated"),
        ((1, "ThreadsPerCore"), 1, "ThreadsPerCore of worker-group cannot be updated"),
        (
            (1, "ExecutionRole"),
            "arn:aws:iam::123456789012:role/Other",
            "ExecutionRole of worker-group cannot be updated",
        ),
        ((0, "InstanceCount"), 0, "NODE_ID_IN_USE: controller-group has Slurm's controller nodes"),
        ((0, "InstanceGroupName"), "head", "NODE_ID_IN_USE: controller-group has Slurm's controller nodes"),
    ],
)
def test_a_group_keeps_its_instance_type_and_role_and_the_controller_its_nodes(
    deployer: Deployer, fleet: Fleet, path: tuple[int, str], value: Any, message: str
) -> None:
    deployer.create("AWS::IAM::Role", RoleName="Other", AssumeRolePolicyDocument=trust("sagemaker.amazonaws.com"))
    old = fleet.properties()
    created = deployer.create(TYPE, **old)
    new = copy.deepcopy(old)
    new["InstanceGroups"][path[0]][path[1]] = value
    with pytest.raises(ResourceFailed, match=message):
        deployer.update(TYPE, created, old, new)
    assert described(deployer, created)["InstanceGroups"][path[0]].get(path[1]) != value


def test_the_controller_is_read_from_the_file_of_the_legacy_configuration(deployer: Deployer, fleet: Fleet) -> None:
    old = fleet.properties()
    for group in old["InstanceGroups"]:
        del group["SlurmConfig"]
    created = deployer.create(TYPE, **old)
    file = json.dumps({"controller_group": "controller-group"})
    deployer.client("s3").put_object(Bucket="sagemaker-fleet", Key="abc/provisioning_parameters.json", Body=file)
    shrunk = copy.deepcopy(old)
    shrunk["InstanceGroups"][1]["InstanceCount"] = 3
    deployer.update(TYPE, created, old, shrunk)
    last = copy.deepcopy(shrunk)
    del last["InstanceGroups"][0]
    with pytest.raises(ResourceFailed, match="NODE_ID_IN_USE: controller-group"):
        deployer.update(TYPE, created, shrunk, last)


def test_a_group_with_several_instance_types_keeps_those_with_running_nodes(deployer: Deployer, fleet: Fleet) -> None:
    old = fleet.properties()
    del old["InstanceGroups"][1]["InstanceType"]
    types = old["InstanceGroups"][1]["InstanceRequirements"] = {"InstanceTypes": ["ml.c5.large", "ml.c5.xlarge"]}
    created = deployer.create(TYPE, **old)
    new = copy.deepcopy(old)
    new["InstanceGroups"][1]["InstanceRequirements"] = {"InstanceTypes": types["InstanceTypes"][:1]}
    deployer.update(TYPE, created, old, new)
    last = copy.deepcopy(new)
    last["InstanceGroups"][1]["InstanceRequirements"] = {"InstanceTypes": types["InstanceTypes"][1:]}
    with pytest.raises(ResourceFailed, match=r"worker-group has active nodes of ml.c5.large"):
        deployer.update(TYPE, created, new, last)


def test_running_nodes_keep_their_storage(deployer: Deployer, fleet: Fleet) -> None:
    old = fleet.properties()
    created = deployer.create(TYPE, **old)
    new = copy.deepcopy(old)
    new["InstanceGroups"][1]["InstanceStorageConfigs"].pop()
    new["InstanceGroups"][1]["InstanceCount"] = 5
    deployer.update(TYPE, created, old, new)
    client = deployer.client("sagemaker")
    reported = [
        client.describe_cluster_node(ClusterName="ml-cluster", NodeId=one)["NodeDetails"]
        for one in nodes(deployer, "worker-group")
    ]
    assert [len(one["InstanceStorageConfigs"]) for one in reported] == [2, 2, 2, 2, 1]


def test_the_script_must_be_in_the_bucket_first(deployer: Deployer, fleet: Fleet) -> None:
    requested = fleet.properties()
    deployer.client("s3").delete_object(Bucket="sagemaker-fleet", Key="abc/on_init_complete.sh")
    with pytest.raises(ResourceFailed, match=r"s3://sagemaker-fleet/abc/on_init_complete.sh does not exist"):
        deployer.create(TYPE, **requested)
    assert not deployer.client("sagemaker").list_clusters()["ClusterSummaries"]


def test_the_network_of_a_running_cluster_cannot_be_deleted(deployer: Deployer, fleet: Fleet) -> None:
    requested = fleet.properties()
    created = deployer.create(TYPE, **requested)
    deployer.delete("AWS::FSx::FileSystem", fleet.file_system)
    with pytest.raises(ResourceFailed, match=r"DependencyViolation.*HyperPod"):
        deployer.delete("AWS::EC2::Subnet", fleet.network.subnet_created)
    deployer.delete(TYPE, created, **requested)
    assert not deployer.provider.exists(TYPE, created.physical_id)
    deployer.delete("AWS::EC2::Subnet", fleet.network.subnet_created)


def _set(properties: dict[str, Any], path: tuple[str | int, ...], value: Any) -> None:
    target: Any = properties
    for part in path[:-1]:
        target = target[part]
    if value is None:
        del target[path[-1]]
    else:
        target[path[-1]] = value


WORKER: tuple[str | int, ...] = ("InstanceGroups", 1)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((*WORKER, "LifeCycleConfig", "SourceS3Uri"), "s3://fleet/abc", "must start with 's3://sagemaker-'"),
        ((*WORKER, "LifeCycleConfig", "SourceS3Uri"), "s3://sagemaker-none/a", "bucket .* does not exist"),
        ((*WORKER, "LifeCycleConfig", "OnCreate"), "on_create.sh", "set only one of OnCreate and OnInitComplete"),
        ((*WORKER, "LifeCycleConfig", "SourceS3Uri"), None, "SourceS3Uri"),
        ((*WORKER, "InstanceType"), "ml.inf2.xlarge", "'ml.inf2.xlarge' is not one of"),
        ((*WORKER, "InstanceType"), "trn1.32xlarge", "'trn1.32xlarge' is not one of"),
        ((*WORKER, "InstanceType"), None, "exactly one of InstanceType and InstanceRequirements"),
        ((*WORKER, "InstanceCount"), -1, "minimum of 0"),
        ((*WORKER, "InstanceCount"), 6759, "at most 6758|maximum of 6758"),
        ((*WORKER, "MinInstanceCount"), 5, "MinInstanceCount must be at most InstanceCount"),
        ((*WORKER, "ThreadsPerCore"), 3, "ThreadsPerCore"),
        ((*WORKER, "ExecutionRole"), "arn:aws:iam::123456789012:role/None", "role/None does not exist"),
        ((*WORKER, "SlurmConfig", "PartitionNames"), None, "PartitionNames is required"),
        ((*WORKER, "SlurmConfig"), {"NodeType": "Controller"}, "exactly one .* Controller; found 2"),
        ((*WORKER, "SlurmConfig"), None, "for every instance group or for none"),
        ((*WORKER, "InstanceGroupName"), "controller-group", "must be unique"),
        (("InstanceGroups", 0, "SlurmConfig", "PartitionNames"), ["dev"], "Compute only"),
        (("InstanceGroups", 0, "SlurmConfig", "NodeType"), "Login", "found 0"),
        (("Orchestrator", "Slurm", "SlurmConfigStrategy"), "Merge", "not allowed with .* Continuous"),
        (("NodeProvisioningMode",), None, "MinInstanceCount requires"),
        (("VpcConfig",), None, "FsxLustreConfig requires VpcConfig of the cluster"),
        (("VpcConfig", "Subnets"), ["subnet-0123456789abcdef0"], "subnet-0123456789abcdef0' does not exist"),
        (("VpcConfig", "SecurityGroupIds"), ["sg-0123456789abcdef0"], "sg-0123456789abcdef0' does not exist"),
        (("ClusterName",), "ml_cluster", "does not match"),
        ((*WORKER, "InstanceStorageConfigs", 1, "FsxLustreConfig", "MountName"), "wrong", "not as wrong"),
        (
            (*WORKER, "InstanceStorageConfigs", 1, "FsxLustreConfig", "DnsName"),
            "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
            "the file system fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com does not exist",
        ),
        ((*WORKER, "Labels"), {}, "unknown property InstanceGroups.*Labels"),
        ((*WORKER, "CurrentCount"), 4, "InstanceGroups.*CurrentCount is read-only"),
    ],
)
def test_the_service_rejects(
    deployer: Deployer, fleet: Fleet, path: tuple[str | int, ...], value: Any, message: str
) -> None:
    requested = fleet.properties()
    _set(requested, path, value)
    with pytest.raises(ResourceFailed, match=message):
        deployer.create(TYPE, **requested)
    assert not deployer.client("sagemaker").list_clusters()["ClusterSummaries"]


def test_the_role_must_trust_the_service(deployer: Deployer, fleet: Fleet) -> None:
    deployer.create("AWS::IAM::Role", RoleName="Other", AssumeRolePolicyDocument=trust("lambda.amazonaws.com"))
    requested = fleet.properties()
    requested["InstanceGroups"][0]["ExecutionRole"] = "arn:aws:iam::123456789012:role/Other"
    with pytest.raises(
        ResourceFailed, match=r"controller-group: the trust policy of .* does not allow sagemaker.amazonaws.com"
    ):
        deployer.create(TYPE, **requested)
