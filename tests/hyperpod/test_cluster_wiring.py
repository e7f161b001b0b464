"""The cluster and the resources next to it: security group rules, dependencies and ids."""

import re
from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Template

from llm_fleet import (
    AccountingDatabase,
    EfaSecurityGroup,
    ExistingNetworkSpec,
    FleetNetwork,
    HyperPodCluster,
    HyperPodClusterSpec,
    InstanceGroup,
    LustreFileSystem,
    LustreSpec,
    NetworkSpec,
    RollingUpdate,
    ScheduledUpdate,
)
from llm_fleet.network.network import Network

Make = Callable[..., HyperPodCluster]
Properties = Callable[[], dict[str, Any]]


def test_a_groups_own_security_group_can_reach_other_nodes_and_file_systems(
    make: Make, properties: Properties, stack: cdk.Stack, network: Network, lustre: LustreFileSystem
) -> None:
    own = EfaSecurityGroup(stack, "Own", vpc=network.vpc)
    make(InstanceGroup.workers("own", "ml.trn1.32xlarge", count=2, security_groups=[own]), lustre=lustre)
    own_id, shared_id = (stack.resolve(group.security_group_id) for group in (own, network.security_group))
    override = properties()["InstanceGroups"][2]["OverrideVpcConfig"]
    assert override["SecurityGroupIds"] == [own_id]
    assert override["Subnets"] == [stack.resolve(network.compute_subnet().subnet_id)]
    template = Template.from_stack(stack)
    for here, there in ((own_id, shared_id), (shared_id, own_id)):
        rule = {"GroupId": here, "SourceSecurityGroupId": there, "IpProtocol": "-1"}
        template.has_resource_properties("AWS::EC2::SecurityGroupIngress", rule)
        way_out = {"GroupId": here, "DestinationSecurityGroupId": there, "IpProtocol": "-1"}
        template.has_resource_properties("AWS::EC2::SecurityGroupEgress", way_out)
    file_system = template.find_resources(
        "AWS::EC2::SecurityGroupIngress", {"Properties": {"FromPort": 988, "SourceSecurityGroupId": own_id}}
    )
    assert file_system, "the group's nodes cannot reach Lustre's port"


def test_a_security_group_given_by_its_id_can_reach_other_nodes(make: Make, stack: cdk.Stack, network: Network) -> None:
    make(InstanceGroup.workers("own", "ml.trn1.32xlarge", count=2, security_groups=["sg-0123456789abcdef0"]))
    rule = {
        "GroupId": "sg-0123456789abcdef0",
        "SourceSecurityGroupId": stack.resolve(network.security_group.security_group_id),
    }
    Template.from_stack(stack).has_resource_properties("AWS::EC2::SecurityGroupIngress", rule)


def test_an_accounting_database_is_configured_and_opened(
    make: Make, properties: Properties, stack: cdk.Stack, network: Network
) -> None:
    guard = ec2.SecurityGroup(stack, "Database", vpc=network.vpc, allow_all_outbound=False)
    secret = secretsmanager.Secret(stack, "Secret")
    database = AccountingDatabase(endpoint="slurm.example.com", secret=secret, connections=guard)
    make(accounting_database=database)
    rendered = properties()["Orchestrator"]["Slurm"]["AccountingDatabase"]
    assert rendered["Endpoint"] == "slurm.example.com"
    assert rendered["SecretArn"] == stack.resolve(secret.secret_arn)
    assert "AWS::StackId" in str(rendered["Name"]), "two stacks would share one schema"
    template = Template.from_stack(stack)
    template.has_resource_properties("AWS::EC2::SecurityGroupIngress", {"FromPort": 3306, "ToPort": 3306})
    assert "secretsmanager:GetSecretValue" in str(template.find_resources("AWS::IAM::ManagedPolicy"))


def test_a_given_role_gets_no_statements(make: Make, properties: Properties, stack: cdk.Stack) -> None:
    role = iam.Role.from_role_arn(stack, "Mine", "arn:aws:iam::111122223333:role/mine")
    other = iam.Role.from_role_arn(stack, "Other", "arn:aws:iam::111122223333:role/other")
    make(InstanceGroup.login("ml.m5.xlarge", execution_role=other), role=role)
    arns = [group["ExecutionRole"] for group in properties()["InstanceGroups"]]
    assert arns == ["arn:aws:iam::111122223333:role/mine"] * 2 + ["arn:aws:iam::111122223333:role/other"]
    roles = Template.from_stack(stack).find_resources(
        "AWS::IAM::Role", {"Properties": {"AssumeRolePolicyDocument": {"Statement": [SAGEMAKER]}}}
    )
    assert not roles


SAGEMAKER = {"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}}


def test_the_role_can_access_data_buckets(make: Make, stack: cdk.Stack) -> None:
    data = s3.Bucket.from_bucket_name(stack, "Data", "our-data")
    models = s3.Bucket.from_bucket_name(stack, "Models", "our-models")
    make(read_buckets=[data], write_buckets=[models])
    policies = str(Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy"))
    assert ":s3:::our-data" in policies
    assert ":s3:::our-models" in policies


def test_a_cluster_without_a_network_has_no_vpc_config(make: Make, properties: Properties) -> None:
    make(network=None)
    assert "VpcConfig" not in properties()


def test_a_cluster_depends_on_all_that_its_nodes_require(
    make: Make, stack: cdk.Stack, whole_network: FleetNetwork
) -> None:
    make(
        network=whole_network,
        lustre=LustreFileSystem(stack, "Fsx", network=whole_network),
        groups=[
            InstanceGroup.controller("ml.m5.xlarge", root_volume_key=kms.Key(stack, "Key")),
            InstanceGroup.workers("trn1", "ml.trn1.32xlarge", count=1),
        ],
    )
    template = Template.from_stack(stack)
    (cluster,) = template.find_resources("AWS::SageMaker::Cluster").values()
    resources = template.to_json()["Resources"]
    named = re.findall(r"'(?:Ref|Fn::GetAtt)': \[?'(\w+)'", str(cluster["Properties"]))
    types = {resources[name]["Type"] for name in {*cluster["DependsOn"], *named} if name in resources}
    assert types >= {
        "AWS::EC2::Route",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::VPCEndpoint",
        "AWS::FSx::FileSystem",
        "AWS::IAM::ManagedPolicy",
        "AWS::IAM::Role",
        "Custom::LlmFleetBundle",
    }
    rules = {name for name in cluster["DependsOn"] if name.startswith("Fsx")}
    assert any(resources[name]["Type"] == "AWS::EC2::SecurityGroupIngress" for name in rules), "Lustre's port"


def test_a_cluster_is_deleted_with_its_stack_or_retained(make: Make, stack: cdk.Stack) -> None:
    make()
    make(id="Kept", removal_policy=cdk.RemovalPolicy.RETAIN)
    template = Template.from_stack(stack)
    policies = sorted(
        cluster["DeletionPolicy"] for cluster in template.find_resources("AWS::SageMaker::Cluster").values()
    )
    assert policies == ["Delete", "Retain"]


@pytest.mark.parametrize("name", ["Resource", "NodeRole", "LifecycleBucket", "LifecycleBundle"])
def test_construct_ids_are_stable(make: Make, name: str) -> None:
    cluster = make()
    assert cluster.node.try_find_child(name) is not None
    assert cluster.node.default_child is cluster.resource


def test_logical_ids_are_stable(make: Make, stack: cdk.Stack) -> None:
    make()
    template = Template.from_stack(stack).to_json()["Resources"]
    found = {name: body["Type"] for name, body in template.items() if name.startswith("Train")}
    assert found == {
        "Train781835F2": "AWS::SageMaker::Cluster",
        "TrainLifecycleBucket890B5130": "AWS::S3::Bucket",
        "TrainLifecycleBucketPolicyB268450A": "AWS::S3::BucketPolicy",
        "TrainLifecycleBundle38B7E14D": "Custom::LlmFleetBundle",
        "TrainNodeRoleFFC8017A": "AWS::IAM::Role",
        "TrainNodeRolePolicy89491C2A": "AWS::IAM::ManagedPolicy",
    }


def test_the_role_has_permissions_only_for_used_features(make: Make, stack: cdk.Stack, network: Network) -> None:
    def actions(cluster: HyperPodCluster) -> str:
        policies = Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy")
        return str([body for name, body in policies.items() if name.startswith(cluster.node.id)])

    plain, fast, watched = "Plain", "Fast", "Watched"
    efa = LustreFileSystem(stack, "Efa", LustreSpec(storage_capacity_gib=19200, efa_enabled=True), network=network)
    update = ScheduledUpdate(schedule_expression="cron(0 3 ? * SUN *)", deployment=RollingUpdate(alarm_names=["sick"]))
    clusters = [
        make(id=plain),
        make(id=fast, lustre=efa),
        make(InstanceGroup.login("ml.m5.xlarge", scheduled_update=update), id=watched),
    ]
    found = {cluster.node.id: actions(cluster) for cluster in clusters}
    assert {name for name, allowed in found.items() if "fsx:DescribeFileSystems" in allowed} == {fast}
    assert {name for name, allowed in found.items() if "cloudwatch:DescribeAlarms" in allowed} == {watched}


def test_existing_subnets_can_belong_to_another_account(
    make: Make, app: cdk.App, stack: cdk.Stack, whole_network: FleetNetwork
) -> None:
    """The ARN of a subnet shared by AWS RAM has its owner's account. assumption: hyperpod-takes-shared-subnets"""

    def subnets(where: cdk.Stack) -> list[Any]:
        policies: Any = Template.from_stack(where).find_resources("AWS::IAM::ManagedPolicy")
        statements = [one for each in policies.values() for one in each["Properties"]["PolicyDocument"]["Statement"]]
        (placing,) = [one for one in statements if one.get("Sid") == "NetworkInterfaces"]
        return [str(one) for one in placing["Resource"] if "subnet/*" in str(one)]

    existing = cdk.Stack(app, "Existing", env=cdk.Environment(account=stack.account, region=stack.region))
    ids = {"usw2-az4": "subnet-0123456789abcdef0"}
    HyperPodCluster(
        existing,
        "Train",
        HyperPodClusterSpec(groups=[InstanceGroup.controller("ml.m5.xlarge")]),
        network=FleetNetwork.from_attributes(
            existing, "Network", ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets=ids)
        ),
    )
    mixed = cdk.Stack(app, "Mixed", env=cdk.Environment(account=stack.account, region=stack.region))
    own = ec2.Subnet.from_subnet_attributes(
        mixed, "Own", subnet_id="subnet-0123456789abcdef1", availability_zone="us-west-2a"
    )
    HyperPodCluster(
        mixed,
        "Train",
        HyperPodClusterSpec(
            groups=[
                InstanceGroup.controller("ml.m5.xlarge"),
                InstanceGroup.workers("own", "ml.trn1.32xlarge", count=1, subnets=[own]),
            ]
        ),
        network=FleetNetwork(mixed, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"])),
    )
    (made, theirs) = (subnets(make(network=whole_network).node.scope), subnets(existing))  # pyright: ignore[reportArgumentType]
    assert f":ec2:{stack.region}:{stack.account}:subnet/*" in made[0]
    assert f":ec2:{stack.region}:*:subnet/*" in theirs[0]
    assert f":ec2:{stack.region}:*:subnet/*" in subnets(mixed)[0], "a group's own subnet in a network of the fleet's"
