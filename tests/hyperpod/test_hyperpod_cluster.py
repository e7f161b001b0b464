"""The cluster as a template: the launch post's first, then feature by feature."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Match, Template

from llm_fleet import (
    AutoPatch,
    BatchSize,
    DeepHealthCheck,
    HyperPodCluster,
    InstanceGroup,
    Lifecycle,
    LifecycleScripts,
    LustreFileSystem,
    LustreSpec,
    NetworkInterfaceType,
    NodeRecovery,
    OpenZfsFileSystem,
    PatchingStrategy,
    RollingUpdate,
    ScheduledUpdate,
)
from llm_fleet.network.network import Network

Make = Callable[..., HyperPodCluster]
Properties = Callable[[], dict[str, Any]]


def test_the_cluster_of_the_launch_post(
    make: Make, properties: Properties, lustre: LustreFileSystem, stack: cdk.Stack, network: Network
) -> None:
    cluster = make(lustre=lustre, cluster_name="ml-cluster")
    found = properties()
    assert found["ClusterName"] == "ml-cluster"
    assert found["NodeProvisioningMode"] == "Continuous"
    assert found["NodeRecovery"] == "Automatic"
    assert found["Orchestrator"] == {"Slurm": {}}, "with Continuous a strategy is an API error"
    assert found["VpcConfig"] == {
        "Subnets": [stack.resolve(network.compute_subnet().subnet_id)],
        "SecurityGroupIds": [stack.resolve(network.security_group.security_group_id)],
    }
    controller, workers = found["InstanceGroups"]
    assert controller["InstanceGroupName"] == "controller-group"
    assert controller["SlurmConfig"] == {"NodeType": "Controller"}
    assert (workers["InstanceType"], workers["InstanceCount"]) == ("ml.trn1.32xlarge", 4)
    assert workers["SlurmConfig"] == {"NodeType": "Compute", "PartitionNames": ["trn1"]}
    assert workers["LifeCycleConfig"]["OnInitComplete"] == "on_init_complete.sh"
    assert workers["ExecutionRole"] == stack.resolve(cluster.role.role_arn)
    mount = {
        "DnsName": stack.resolve(lustre.dns_name),
        "MountName": stack.resolve(lustre.mount_name),
        "MountPath": "/fsx",
    }
    assert workers["InstanceStorageConfigs"] == [{"FsxLustreConfig": mount}]


def test_full_custom_nodes_with_continuous_provisioning(
    make: Make, properties: Properties, lustre: LustreFileSystem
) -> None:
    """As in the developer guide's examples: Continuous requires `SlurmConfig` with every lifecycle hook."""
    make(lifecycle=Lifecycle.ON_CREATE, lustre=lustre)
    found = properties()
    assert found["Orchestrator"] == {"Slurm": {}}
    for group in found["InstanceGroups"]:
        assert "NodeType" in group["SlurmConfig"]
        assert group["LifeCycleConfig"]["OnCreate"] == "on_create.sh"
        assert "OnInitComplete" not in group["LifeCycleConfig"]
        assert "FsxLustreConfig" in group["InstanceStorageConfigs"][0]


def test_the_legacy_file_replaces_the_settings_of_the_api(
    make: Make, properties: Properties, lustre: LustreFileSystem, tmp_path: Path
) -> None:
    """HyperPod rejects `provisioning_parameters.json` and `SlurmConfig` together."""
    (tmp_path / "provisioning_parameters.json").write_text("{}")
    script = tmp_path / "on_create.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    script.chmod(0o755)
    scripts = LifecycleScripts(scripts=tmp_path)
    make(lifecycle=Lifecycle.ON_CREATE, scripts=scripts, lustre=lustre, node_provisioning_mode=None)
    found = properties()
    assert "Orchestrator" not in found
    assert "NodeProvisioningMode" not in found
    for group in found["InstanceGroups"]:
        assert not {"SlurmConfig", "InstanceStorageConfigs"} & set(group)
        assert group["LifeCycleConfig"]["OnCreate"] == "on_create.sh"


def test_without_scripts_no_bucket_is_created(make: Make, properties: Properties, stack: cdk.Stack) -> None:
    make(lifecycle=Lifecycle.NONE)
    assert all("LifeCycleConfig" not in group for group in properties()["InstanceGroups"])
    Template.from_stack(stack).resource_count_is("AWS::S3::Bucket", 0)
    Template.from_stack(stack).resource_count_is("Custom::LlmFleetBundle", 0)


def test_one_group_can_have_no_scripts(make: Make, properties: Properties) -> None:
    make(InstanceGroup.login("ml.m5.xlarge", lifecycle=Lifecycle.NONE))
    scripts = ["LifeCycleConfig" in group for group in properties()["InstanceGroups"]]
    assert scripts == [True, True, False]


def test_custom_scripts_in_an_existing_bucket(make: Make, properties: Properties, stack: cdk.Stack) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Scripts", "sagemaker-ours")
    make(scripts=LifecycleScripts(bucket=bucket, prefix="/v1/", entry_point="start.sh"))
    expected = {"SourceS3Uri": "s3://sagemaker-ours/v1", "OnInitComplete": "start.sh"}
    assert properties()["InstanceGroups"][0]["LifeCycleConfig"] == expected
    Template.from_stack(stack).resource_count_is("Custom::LlmFleetBundle", 0)


def test_a_custom_folder_is_uploaded_to_a_given_bucket(make: Make, stack: cdk.Stack, tmp_path: Path) -> None:
    for name in ("on_init_complete.sh", "special.sh"):
        script = tmp_path / name
        script.write_text("#!/bin/bash\ntrue\n")
        script.chmod(0o755)
    bucket = s3.Bucket.from_bucket_name(stack, "Scripts", "sagemaker-ours")
    make(
        InstanceGroup.login("ml.m5.xlarge", on_init_complete="special.sh"),
        scripts=LifecycleScripts(bucket=bucket, scripts=tmp_path),
    )
    template = Template.from_stack(stack)
    template.has_resource_properties("Custom::LlmFleetBundle", {"Bucket": "sagemaker-ours"})
    template.resource_count_is("AWS::S3::Bucket", 0)


def test_a_custom_folder_with_a_custom_entry_point(make: Make, properties: Properties, tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    script.chmod(0o755)
    make(scripts=LifecycleScripts(scripts=tmp_path, entry_point="start.sh"))
    assert {group["LifeCycleConfig"]["OnInitComplete"] for group in properties()["InstanceGroups"]} == {"start.sh"}


def test_the_merge_strategy_is_rendered_without_continuous_provisioning(make: Make, properties: Properties) -> None:
    make(node_provisioning_mode=None)
    found = properties()
    assert "NodeProvisioningMode" not in found
    assert found["Orchestrator"] == {"Slurm": {"SlurmConfigStrategy": "Merge"}}


def test_all_settings_of_a_group(make: Make, properties: Properties, stack: cdk.Stack) -> None:
    key = kms.Key(stack, "Key")
    rolling = RollingUpdate(
        maximum_batch_size=BatchSize.percent(20),
        rollback_maximum_batch_size=BatchSize.nodes(4),
        wait_interval_seconds=60,
        alarm_names=["sick"],
    )
    plan = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p5-november"
    make(
        InstanceGroup.workers(
            "p5",
            "ml.p5.48xlarge",
            count=8,
            min_count=2,
            threads_per_core=1,
            ebs_volume_gib=500,
            ebs_volume_key=key,
            root_volume_key=key,
            deep_health_checks=[DeepHealthCheck.INSTANCE_STRESS, DeepHealthCheck.INSTANCE_CONNECTIVITY],
            training_plan_arn=plan,
            training_plan_availability_zone_id="usw2-az4",
            image_id="ami-0123456789abcdef0",
            network_interface=NetworkInterfaceType.EFA_ONLY,
            scheduled_update=ScheduledUpdate(schedule_expression="cron(0 3 ? * SUN *)", deployment=rolling),
        ),
        InstanceGroup.workers(
            "flexible",
            ["ml.g6e.48xlarge", "ml.g5.48xlarge"],
            count=2,
            spot=True,
            auto_patch=AutoPatch(strategy=PatchingStrategy.WHEN_IDLE, deployment=RollingUpdate(alarm_names=["ill"])),
        ),
        node_recovery=NodeRecovery.NONE,
        tags={"team": "llm"},
    )
    found = properties()
    assert found["NodeRecovery"] == "None"
    assert found["Tags"] == [{"Key": "team", "Value": "llm"}]
    p5, flexible = found["InstanceGroups"][2:]
    arn = stack.resolve(key.key_arn)
    deployment = {
        "RollingUpdatePolicy": {
            "MaximumBatchSize": {"Type": "CAPACITY_PERCENTAGE", "Value": 20},
            "RollbackMaximumBatchSize": {"Type": "INSTANCE_COUNT", "Value": 4},
        },
        "WaitIntervalInSeconds": 60,
        "AutoRollbackConfiguration": [{"AlarmName": "sick"}],
    }
    for name in ("ExecutionRole", "LifeCycleConfig"):
        del p5[name], flexible[name]
    assert p5 == {
        "InstanceGroupName": "p5",
        "InstanceType": "ml.p5.48xlarge",
        "InstanceCount": 8,
        "MinInstanceCount": 2,
        "ThreadsPerCore": 1,
        "SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["p5"]},
        "InstanceStorageConfigs": [
            {"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": arn}},
            {"EbsVolumeConfig": {"VolumeSizeInGB": 500, "VolumeKmsKeyId": arn}},
        ],
        "OnStartDeepHealthChecks": ["InstanceStress", "InstanceConnectivity"],
        "TrainingPlanArn": plan,
        "ImageId": "ami-0123456789abcdef0",
        "NetworkInterface": {"InterfaceType": "efa-only"},
        "ScheduledUpdateConfig": {"ScheduleExpression": "cron(0 3 ? * SUN *)", "DeploymentConfig": deployment},
    }
    assert flexible == {
        "InstanceGroupName": "flexible",
        "InstanceRequirements": {"InstanceTypes": ["ml.g6e.48xlarge", "ml.g5.48xlarge"]},
        "InstanceCount": 2,
        "CapacityRequirements": {"Spot": {}},
        "SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["flexible"]},
        "AutoPatchConfig": {
            "PatchingStrategy": "WhenIdle",
            "DeploymentConfig": {"AutoRollbackConfiguration": [{"AlarmName": "ill"}]},
        },
    }
    template = Template.from_stack(stack)
    use_of_keys = {"Action": ["kms:CreateGrant", "kms:DescribeKey"], "Resource": arn}
    template.has_resource_properties(
        "AWS::IAM::ManagedPolicy", {"PolicyDocument": {"Statement": [Match.object_like(use_of_keys)]}}
    )


def test_open_zfs_with_groups_that_mount_nothing(
    make: Make, properties: Properties, stack: cdk.Stack, network: Network, lustre: LustreFileSystem
) -> None:
    home = OpenZfsFileSystem(stack, "Home", network=network)
    make(InstanceGroup.login("ml.m5.xlarge", mount_lustre=False), lustre=lustre, open_zfs=home)
    controller, _, login = properties()["InstanceGroups"]
    zfs = {"FsxOpenZfsConfig": {"DnsName": stack.resolve(home.dns_name), "MountPath": "/home"}}
    assert controller["InstanceStorageConfigs"][1] == zfs
    assert login["InstanceStorageConfigs"] == [zfs]


def test_a_group_can_be_in_another_az(make: Make, properties: Properties, stack: cdk.Stack, network: Network) -> None:
    make(InstanceGroup.workers("far", "ml.trn1.32xlarge", count=2, availability_zone_id="usw2-az1"))
    groups = properties()["InstanceGroups"]
    assert groups[2]["OverrideVpcConfig"] == {
        "Subnets": [stack.resolve(network.compute_subnet("usw2-az1").subnet_id)],
        "SecurityGroupIds": [stack.resolve(network.security_group.security_group_id)],
    }
    assert "OverrideVpcConfig" not in groups[1]


def test_a_cluster_is_in_the_az_of_its_file_system(
    make: Make, properties: Properties, stack: cdk.Stack, network: Network
) -> None:
    far = LustreFileSystem(stack, "Far", LustreSpec(availability_zone_id="usw2-az1"), network=network)
    make(lustre=far)
    assert properties()["VpcConfig"]["Subnets"] == [stack.resolve(network.compute_subnet("usw2-az1").subnet_id)]


def test_the_order_of_groups_is_kept(make: Make, properties: Properties) -> None:
    names = ["z", "a", "m"]
    make(*(InstanceGroup.workers(name, "ml.trn1.32xlarge", count=1) for name in names))
    assert [group["InstanceGroupName"] for group in properties()["InstanceGroups"]][2:] == names
