"""Requests that the real services reject and moto accepts: missing ids, wrong order, existing resources."""

from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import NothingChanged, ResourceFailed
from tests.local.aws.resources.support import Deployer, Network, trust

NO_VPC, NO_GROUP, NO_SUBNET = "vpc-0123456789abcdef0", "sg-0123456789abcdef0", "subnet-0123456789abcdef0"
NO_KEY = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"
ENDPOINT = {"ServiceName": "com.amazonaws.us-west-2.logs", "VpcEndpointType": "Interface"}
ALARM = {
    "AlarmName": "hot", "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "MetricName": "m",
    "Namespace": "n", "Period": 60, "Statistic": "Sum", "Threshold": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("resource_type", "properties", "reported"),
    [
        ("AWS::EC2::SecurityGroup", {"GroupDescription": "d", "VpcId": NO_VPC}, "InvalidVpcID.NotFound"),
        ("AWS::EC2::SecurityGroupIngress", {"GroupId": NO_GROUP, "IpProtocol": "-1"}, "requires an address range"),
        (
            "AWS::EC2::SecurityGroupEgress",
            {"GroupId": NO_GROUP, "IpProtocol": "tcp", "FromPort": 1, "CidrIp": "10.0.0.0/8"},
            "Must specify both from and to ports",
        ),
        ("AWS::EC2::Route", {"RouteTableId": "rtb-1", "DestinationCidrBlock": "0.0.0.0/0"}, "requires a target"),
        ("AWS::EC2::NatGateway", {"SubnetId": NO_SUBNET}, "needs an AllocationId"),
        ("AWS::EC2::NatGateway", {"SubnetId": NO_SUBNET, "AllocationId": "eipalloc-1"}, "InvalidAllocationID.NotFound"),
        ("AWS::EC2::VPCEndpoint", {"VpcId": NO_VPC, **ENDPOINT, "SecurityGroupIds": [NO_GROUP]}, "InvalidGroup"),
        (
            "AWS::EC2::VPCEndpoint",
            {"VpcId": NO_VPC, "ServiceName": "com.amazonaws.eu-west-1.s3"},
            "not exist in us",
        ),
        ("AWS::Logs::LogGroup", {"KmsKeyId": NO_KEY}, "does not exist"),
        (
            "AWS::IAM::Role",
            {"AssumeRolePolicyDocument": trust("a.b"), "PermissionsBoundary": "arn:aws:iam::123456789012:policy/none"},
            "NoSuchEntity",
        ),
        (
            "AWS::IAM::Role",
            {"AssumeRolePolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]}},
            "needs a Principal",
        ),
    ],
)
def test_references_to_missing_resources_are_rejected(
    deployer: Deployer, resource_type: str, properties: dict[str, Any], reported: str
) -> None:
    with pytest.raises(NothingChanged, match=reported):
        deployer.create(resource_type, **properties)


@pytest.mark.parametrize("trusted", ["scheduler.amazonaws.com", "vpc-flow-logs.amazonaws.com"])
def test_a_role_must_trust_the_service_that_uses_it(deployer: Deployer, network: Network, trusted: str) -> None:
    role = deployer.create("AWS::IAM::Role", AssumeRolePolicyDocument=trust(trusted)).attributes["Arn"]
    requested: dict[str, dict[str, Any]] = {
        "scheduler.amazonaws.com": {
            "resource_type": "AWS::Scheduler::Schedule",
            "Name": "nightly",
            "ScheduleExpression": "rate(1 day)",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {"Arn": "arn:aws:sqs:us-west-2:123456789012:jobs", "RoleArn": role, "Input": "{}"},
        },
        "vpc-flow-logs.amazonaws.com": {
            "resource_type": "AWS::EC2::FlowLog",
            "ResourceId": network.vpc,
            "ResourceType": "VPC",
            "TrafficType": "ALL",
            "LogGroupName": "flow",
            "DeliverLogsPermissionArn": role,
        },
    }
    words = {
        "scheduler.amazonaws.com": "must allow AWS EventBridge Scheduler to assume the role",
        "vpc-flow-logs.amazonaws.com": "Unable to assume given IAM role: 'arn:aws:iam::",
    }
    for service, properties in requested.items():
        resource_type = properties.pop("resource_type")
        if service == trusted:
            deployer.create(resource_type, **properties)
            continue
        with pytest.raises(NothingChanged, match=words[service]):
            deployer.create(resource_type, **properties)


def test_the_subnets_and_groups_of_a_function_must_exist(deployer: Deployer, network: Network) -> None:
    role = deployer.create("AWS::IAM::Role", AssumeRolePolicyDocument=trust("lambda.amazonaws.com")).attributes["Arn"]
    function: dict[str, Any] = {
        "Role": role,
        "Runtime": "python3.12",
        "Handler": "index.h",
        "Code": {"ZipFile": "x = 1"},
    }
    for place in ({"SubnetIds": [NO_SUBNET], "SecurityGroupIds": [network.group]},
                  {"SubnetIds": [network.subnet], "SecurityGroupIds": [NO_GROUP]}):  # fmt: skip
        with pytest.raises(NothingChanged, match="does not exist"):
            deployer.create("AWS::Lambda::Function", **function, VpcConfig=place)


def test_a_route_to_the_internet_requires_an_attached_gateway(deployer: Deployer, network: Network) -> None:
    gateway = deployer.create("AWS::EC2::InternetGateway").physical_id
    table = deployer.create("AWS::EC2::RouteTable", VpcId=network.vpc).physical_id
    address = deployer.create("AWS::EC2::EIP").attributes["AllocationId"]
    route = {"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": gateway}
    nat = {"SubnetId": network.subnet, "AllocationId": address}
    with pytest.raises(NothingChanged, match="belong to different networks"):
        deployer.create("AWS::EC2::Route", **route)
    with pytest.raises(NothingChanged, match="has no Internet gateway attached"):
        deployer.create("AWS::EC2::NatGateway", **nat)
    deployer.create("AWS::EC2::VPCGatewayAttachment", VpcId=network.vpc, InternetGatewayId=gateway)
    made = deployer.create("AWS::EC2::Route", **route)
    deployer.create("AWS::EC2::NatGateway", **nat)
    lost = {name: value for name, value in route.items() if name != "GatewayId"} | {"NatGatewayId": "nat-1"}
    with pytest.raises(NothingChanged, match="nat-1"):
        deployer.update("AWS::EC2::Route", made, route, lost)


def test_the_key_of_a_log_group_must_allow_logs(deployer: Deployer) -> None:
    statement = {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "kms:*"}
    policy = {"Version": "2012-10-17", "Statement": [statement | {"Resource": "*"}]}
    key = deployer.create("AWS::KMS::Key", KeyPolicy=policy).attributes["Arn"]
    with pytest.raises(NothingChanged, match="not allowed to be used with LogGroup"):
        deployer.create("AWS::Logs::LogGroup", KmsKeyId=key)


@pytest.mark.parametrize(
    ("resource_type", "properties"),
    [
        ("AWS::CloudWatch::Alarm", ALARM),
        ("AWS::SNS::Topic", {"TopicName": "reported"}),
        ("AWS::S3::Bucket", {"BucketName": "taken-already"}),
        ("AWS::Logs::LogGroup", {"LogGroupName": "taken"}),
        ("AWS::SSM::Parameter", {"Name": "/taken", "Type": "String", "Value": "v"}),
    ],
)
def test_existing_resources_are_neither_overwritten_nor_deleted(
    deployer: Deployer, resource_type: str, properties: dict[str, Any]
) -> None:
    first = deployer.create(resource_type, **properties)
    with pytest.raises(ResourceFailed, match="already exists"):
        deployer.create(resource_type, **properties)
    assert deployer.provider.exists(resource_type, first.physical_id)


def test_a_buckets_policy_is_not_overwritten(deployer: Deployer) -> None:
    deployer.create("AWS::S3::Bucket", BucketName="guarded")
    statement = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::guarded"}
    policy: dict[str, Any] = {
        "Bucket": "guarded",
        "PolicyDocument": {"Version": "2012-10-17", "Statement": [statement]},
    }
    deployer.create("AWS::S3::BucketPolicy", **policy)
    with pytest.raises(ResourceFailed, match="guarded already exists"):
        deployer.create("AWS::S3::BucketPolicy", **policy)
