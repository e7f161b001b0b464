"""Hosts of a service, of both kinds: launch template, capacity provider and its name."""

import json
import re
from typing import Any

import aws_cdk as cdk
import botocore.session
import pytest
from aws_cdk import aws_logs as logs
from botocore.loaders import Loader
from botocore.model import StructureShape
from constructs import Construct

from llm_fleet.catalog.neuron import host_facts, neuron_instance_names
from llm_fleet.catalog.service import task_limits
from llm_fleet.inference.capacity import Ec2Capacity
from llm_fleet.inference.cluster import capacity_provider_name
from llm_fleet.inference.hosts import host_settings, host_user_data
from llm_fleet.inference.model import ModelMount, model_mount
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.model import check_model
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model_shape import Model, ModelShape
from llm_fleet.spec.service import Hosts, TaskCount
from tests.inference.capacities import Both, network_of
from tests.lifecycle_scripts.inference_host.unpack import settings_of
from tools.synth_environment import cdk_context

NAME = "n" * task_limits().longest_name
SHAPE = ModelShape(parameters=7_512_264_704, layers=32, attention_heads=32, kv_heads=8, head_dim=128)
ROOM = host_facts().model_prefix_bytes
STACK = f"arn:aws-us-gov:cloudformation:ap-southeast-1:111122223333:stack/{'s' * 128}/{'0' * 36}"
"""Names of stacks have at most 128 characters."""
LONGEST = ["p" * ROOM, "ü" * (ROOM // 2), '"' * (ROOM // 2), "\\" * (ROOM // 2), "\x01" * (ROOM // 6)]


def mount_of(prefix: str) -> ModelMount:
    mount = model_mount(Model(s3_uri=f"s3://{'b' * 63}/{prefix}", shape=SHAPE, cache_gib=99999))
    assert mount is not None
    return mount


@pytest.mark.parametrize("prefix", LONGEST, ids=["plain", "two bytes", "quotes", "backslashes", "control"])
def test_user_data_with_the_longest_names_is_within_the_limit(prefix: str):
    stack = cdk.Stack(cdk.App(), "S", env=cdk.Environment(region="ap-southeast-1"))
    settings = host_settings(
        stack,
        instance_type=max(neuron_instance_names(), key=len),
        install_driver=True,
        service_name=NAME,
        cluster_name=NAME,
        driver_version="2.28.10.10",
        log_group_name=f"/llm-fleet/inference/{NAME}",
        signal_resources=["L" * 255, "L" * 245 + "1234567890"],  # the longest logical ids with a common beginning
        mount=mount_of(prefix),
    )
    text = stack.resolve(host_user_data(stack, {**settings, "stack": STACK, "url_suffix": "amazonaws.com.cn"}))
    assert settings_of(text)["mount"]["prefix"] == prefix
    assert len(text.encode()) < host_facts().user_data_bytes


@pytest.mark.parametrize("prefix", LONGEST, ids=["plain", "two bytes", "quotes", "backslashes", "control"])
def test_one_character_more_is_rejected(prefix: str):
    model = Model(s3_uri=f"s3://{'b' * 63}/{prefix + 6 * prefix[:1]}", shape=SHAPE)
    (problem,) = check_model(model)
    assert (problem.code, problem.path) == (Code.MODEL_PLACE, ("s3_uri",))
    assert "too long for the hosts' user data" in problem.message
    assert f"up to {ROOM} bytes" in problem.allowed


def test_a_bucket_that_is_a_token_does_not_hide_errors_in_the_prefix():
    location = f"s3://{cdk.Token.as_string({'Ref': 'Bucket'})}/{'p' * ROOM}"
    assert check_model(Model(s3_uri=location, shape=SHAPE)) == []
    (longer,) = check_model(Model(s3_uri=location + "p", shape=SHAPE))
    assert "too long for the hosts' user data" in longer.message
    (wider,) = check_model(Model(s3_uri=location[:-1] + "*", shape=SHAPE))
    assert "which IAM policies interpret" in wider.message


def test_a_prefix_that_is_a_token_passes():
    model = Model(s3_uri=f"s3://my-models/{cdk.Token.as_string({'Ref': 'Prefix'})}/{'p' * ROOM}", shape=SHAPE)
    assert check_model(model) == []


@pytest.fixture(scope="module")
def template(capacities: Both) -> dict[str, Any]:
    return capacities.of("AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"]


@pytest.fixture(scope="module")
def group(capacities: Both) -> dict[str, Any]:
    return capacities.of("AWS::AutoScaling::AutoScalingGroup")


def test_metadata_is_available_only_to_the_host_and_with_imdsv2(template: dict[str, Any]):
    options = template["MetadataOptions"]
    assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", 1)


def test_hosts_have_no_ssh_key_no_public_address_and_no_ingress(template: dict[str, Any], capacities: Both):
    assert "KeyName" not in template
    (interface,) = template["NetworkInterfaces"]
    assert interface["AssociatePublicIpAddress"] is False
    own = capacities.of("AWS::EC2::SecurityGroup", below="Own")["Properties"]
    assert "SecurityGroupIngress" not in own
    assert [(rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) for rule in own["SecurityGroupEgress"]] == [
        ("tcp", 443, 443)
    ]


def test_the_root_volume_is_encrypted_and_large_enough_for_two_images_and_the_cache(template: dict[str, Any]):
    (volume,) = template["BlockDeviceMappings"]
    assert volume["DeviceName"] == "/dev/xvda"
    assert (volume["Ebs"]["Encrypted"], volume["Ebs"]["VolumeType"], volume["Ebs"]["VolumeSize"]) == (True, "gp3", 100)


def test_the_ami_is_one_release_and_not_the_recommended_one(template: dict[str, Any]):
    assert "20260701" in template["ImageId"]
    assert "recommended" not in template["ImageId"]


def test_hosts_are_in_every_compute_subnet_and_created_after_internet_access(group: dict[str, Any]):
    assert len(group["Properties"]["VPCZoneIdentifier"]) == 2
    assert any("DefaultRoute" in each for each in group["DependsOn"])


def test_no_host_is_started_before_its_capacity_provider_exists(capacities: Both, group: dict[str, Any]):
    """Hosts that register earlier do not belong to the provider, and the group cannot start others."""
    assert (group["Properties"]["MinSize"], group["Properties"].get("DesiredCapacity")) == ("0", None)
    assert "CreationPolicy" not in group, "an empty group sends no signal"
    first = capacities.of("AWS::CloudFormation::WaitCondition")
    assert first["CreationPolicy"] == {"ResourceSignal": {"Count": 1, "Timeout": "PT30M"}}


def test_an_update_waits_for_the_signal_of_each_host(group: dict[str, Any]):
    rolling = group["UpdatePolicy"]["AutoScalingRollingUpdate"]
    assert (rolling["WaitOnResourceSignals"], rolling["MaxBatchSize"], rolling["MinInstancesInService"]) == (True, 1, 1)
    assert rolling["MinInstancesInService"] < int(group["Properties"]["MaxSize"]), "else CloudFormation rejects it"
    assert {"AZRebalance", "ReplaceUnhealthy"} <= set(rolling["SuspendProcesses"])


def test_suspended_processes_are_processes_of_auto_scaling(group: dict[str, Any]):
    documented = json.dumps(Loader().load_service_model("autoscaling", "service-2")["shapes"]["ScalingProcessQuery"])
    for process in group["UpdatePolicy"]["AutoScalingRollingUpdate"]["SuspendProcesses"]:
        assert f"<code>{process}</code>" in documented


def test_ecs_sets_the_number_of_hosts(group: dict[str, Any]):
    properties = group["Properties"]
    assert properties["MaxSize"] == "4"
    assert "DesiredCapacity" not in properties, "every update would put the group back to it"
    assert {"Key": "AmazonECSManaged", "Value": "", "PropagateAtLaunch": True} in properties["Tags"]


def test_hosts_are_drained_and_the_stack_can_be_deleted(capacities: Both, group: dict[str, Any]):
    provider = capacities.of("AWS::ECS::CapacityProvider", below="Own")["Properties"]["AutoScalingGroupProvider"]
    assert provider["ManagedDraining"] == "ENABLED"
    assert provider["ManagedTerminationProtection"] == "DISABLED"
    assert "NewInstancesProtectedFromScaleIn" not in group["Properties"]
    assert provider["ManagedScaling"]["Status"] == "ENABLED"


def test_a_service_can_depend_on_its_capacity(capacities: Both):
    stack = capacities.stack
    waiting = cdk.CfnResource(cdk.Stack(), "Waiting", type="AWS::CloudFormation::WaitConditionHandle")
    assert capacities.ec2.association.stack is stack
    waiting.node.add_dependency(capacities.ec2.dependencies)
    association = capacities.of("AWS::ECS::ClusterCapacityProviderAssociations")["Properties"]
    assert association["CapacityProviders"] == [stack.resolve(capacities.ec2.capacity_provider_name)]


def test_permissions_of_hosts(capacities: Both):
    statements = capacities.of("AWS::IAM::ManagedPolicy", below="Own")["Properties"]["PolicyDocument"]["Statement"]
    assert [each["Sid"] for each in statements] == [
        "AgentEndpoint",
        "AgentCluster",
        "AgentInstance",
        "BootStream",
        "BootLog",
        "BootSignal",
        "SessionsInformation",
        "Sessions",
        "Model",
    ]
    open_to_all = [each["Sid"] for each in statements if each["Resource"] == "*"]
    assert open_to_all == ["AgentEndpoint", "SessionsInformation", "Sessions"]
    role = capacities.of("AWS::IAM::Role", below="OwnRole")["Properties"]
    assert [list(arn) for arn in role["ManagedPolicyArns"]] == [["Ref"]], "no policy of AWS's"
    assert all(permission.reason for permission in capacities.ec2.permissions)


def test_user_data_names_group_cluster_and_log(capacities: Both, template: dict[str, Any]):
    pieces = template["UserData"]["Fn::Base64"]["Fn::Join"][1]
    text = "".join(each if isinstance(each, str) else json.dumps(each).replace('"', "") for each in pieces)
    settings = json.loads(text.split("<<'SETTINGS'\n")[1].split("\nSETTINGS")[0])
    kinds = ("AWS::AutoScaling::AutoScalingGroup", "AWS::CloudFormation::WaitCondition")
    waiting = [name for kind in kinds for name, each in capacities.resources.items() if each["Type"] == kind]
    assert settings["signal_resources"] == waiting
    assert settings["cluster"] == "{Ref: OwnCluster}"
    assert settings["log_group"] == "{Ref: Logs}"
    assert (settings["driver"], settings["devices"], settings["install_driver"]) == ("2.28.0.0", 1, True)
    assert settings["mount"] == {
        "bucket": "my-models",
        "prefix": "tanuki-8b",
        "path": "/var/lib/llm-fleet/model",
        "cache_gib": 20,
    }


def capacity(
    *, internet: InternetAccess = InternetAccess.NAT, tasks: TaskCount | None = None, **hosts: Any
) -> Ec2Capacity:
    stack = cdk.Stack(cdk.App(context=cdk_context()), "S", env=cdk.Environment(region="us-west-2"))
    return Ec2Capacity(
        stack,
        "Capacity",
        instance_type="inf2.xlarge",
        hosts=Hosts(**hosts),
        network=network_of(stack, internet=internet),
        cluster_name="chat",
        service_name="chat",
        tasks=tasks or TaskCount(desired=1, minimum=1, maximum=1),
        driver_version="2.28.0.0",
        log_group=logs.CfnLogGroup(stack, "Logs"),
        image_gib=30,
    )


def test_a_single_host_is_stopped_before_its_successor_starts():
    made = capacity(ami="ami-0123456789abcdef0", root_volume_gib=200)
    group = made.group.resource.cfn_options
    assert group.update_policy is not None
    assert group.update_policy.auto_scaling_rolling_update is not None
    assert group.update_policy.auto_scaling_rolling_update.min_instances_in_service == 0
    data = cdk.Stack.of(made).resolve(made.launch_template.resource.launch_template_data)
    assert data["imageId"] == "ami-0123456789abcdef0"
    assert data["blockDeviceMappings"][0]["ebs"]["volumeSize"] == 200


def test_an_export_does_not_wait_for_a_host():
    assert capacity(tasks=TaskCount(desired=0, minimum=0, maximum=1)).first_host is None


@pytest.mark.parametrize(
    ("hosts", "internet", "code"),
    [
        ({"ami": "20260820", "install_driver": False}, InternetAccess.NAT, Code.HOST_AMI_DRIVER),
        ({"ami": "20260820"}, InternetAccess.NONE, Code.HOST_DRIVER_UNREACHABLE),
    ],
)
def test_a_driver_that_does_not_fit_the_runtime_is_reported_at_synth(
    hosts: dict[str, Any], internet: InternetAccess, code: Code
):
    with pytest.raises(FleetError) as rejected:
        capacity(internet=internet, **hosts)
    (problem,) = rejected.value.problems
    assert (problem.code, problem.where) == (code, "hosts.ami")
    assert "2.30.2.0" in problem.message
    assert "2.28.0.0" in problem.message
    assert "20260701" in problem.remedy


def test_the_provider_of_managed_instances_has_one_type_and_repairs_instances(capacities: Both):
    properties = capacities.of("AWS::ECS::CapacityProvider", below="Managed")["Properties"]
    provider = properties["ManagedInstancesProvider"]
    assert provider["AutoRepairConfiguration"] == {"ActionsStatus": "ENABLED"}
    template = provider["InstanceLaunchTemplate"]
    assert template["InstanceRequirements"] == {
        "AllowedInstanceTypes": ["inf2.xlarge"],
        "VCpuCount": {"Min": 4},
        "MemoryMiB": {"Min": 16384},
    }
    assert template["StorageConfiguration"] == {"StorageSizeGiB": 80}
    assert len(template["NetworkConfiguration"]["Subnets"]) == 2


def test_the_provider_of_managed_instances_is_created_in_its_cluster_and_not_associated(capacities: Both):
    """ECS rejects PutClusterCapacityProviders for this kind of provider."""
    provider = capacities.of("AWS::ECS::CapacityProvider", below="Managed")["Properties"]
    assert provider["ClusterName"] == {"Ref": "ManagedCluster"}
    associated = capacities.of("AWS::ECS::ClusterCapacityProviderAssociations")["Properties"]
    assert associated["Cluster"] == {"Ref": "OwnCluster"}


def test_ecs_can_pass_only_this_role(capacities: Both):
    policy = capacities.of("AWS::IAM::ManagedPolicy", below="ManagedInfrastructure")["Properties"]
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Action"] == "iam:PassRole"
    assert statement["Resource"] == capacities.stack.resolve(capacities.managed.role.role_arn)
    assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


def test_tasks_on_managed_instances_have_no_placement_constraints(capacities: Both):
    managed = capacities.managed
    assert managed.placement_constraints == []
    assert (managed.compatibility, capacities.ec2.compatibility) == ("MANAGED_INSTANCES", "EC2")


def name_in(stack_name: str, *, construct: str = "Capacity") -> str | None:
    stack = cdk.Stack(cdk.App(), "Stack", stack_name=stack_name)
    return capacity_provider_name(Construct(Construct(stack, "Chat"), construct))


@pytest.mark.parametrize("stack_name", ["aws-chat", "ecs-services", "ECS-services", "fargate"])
def test_the_provider_has_a_name_if_the_stack_name_has_a_reserved_prefix(stack_name: str):
    name = name_in(stack_name)
    assert name is not None
    assert re.fullmatch("cp-[A-Za-z0-9_-]{1,252}", name)
    assert name != name_in(stack_name, construct="Other")


def test_by_default_cloudformation_generates_the_name():
    assert name_in("inference-chat") is None
    assert name_in("chat-on-ecs") is None
    nested = cdk.NestedStack(cdk.Stack(cdk.App(), "ecs-parent"), "Nested")
    assert capacity_provider_name(nested) is None, "the name is a CDK token"


def test_reserved_prefixes_are_those_that_ecs_documents():
    shape = botocore.session.get_session().get_service_model("ecs").shape_for("CreateCapacityProviderRequest")
    assert isinstance(shape, StructureShape)
    text = str(shape.members["name"].documentation)
    rejected = re.findall("<code>(\\w+)</code>", text.split("can't be prefixed with")[1])
    assert rejected
    for beginning in rejected:
        assert name_in(f"{beginning}-chat") is not None
