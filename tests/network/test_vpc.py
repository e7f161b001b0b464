"""Endpoints of both kinds of network, a network without internet access, and flow logs."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.network import interface_endpoints
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from llm_fleet.spec.network import NetworkSpec
from tests.network.conftest import TWO_ZONES, Make, Resource, all_of, id_of, named, only, properties

ENDPOINT = "AWS::EC2::VPCEndpoint"


@pytest.fixture
def closed(make: Make) -> Template:
    return make(availability_zone_ids=TWO_ZONES, internet=InternetAccess.NONE)


def interface_endpoints_in(template: Template) -> dict[str, Resource]:
    """Properties of each interface endpoint, by the last part of its service's name."""
    return {
        one["ServiceName"].removeprefix("com.amazonaws.us-west-2."): one
        for one in properties(template, ENDPOINT)
        if one["VpcEndpointType"] == "Interface"
    }


@pytest.mark.parametrize(
    "resource_type",
    [
        "AWS::EC2::InternetGateway",
        "AWS::EC2::VPCGatewayAttachment",
        "AWS::EC2::NatGateway",
        "AWS::EC2::EIP",
        "AWS::EC2::Route",
    ],
)
def test_a_closed_network_has_no_gateways(closed: Template, resource_type: str):
    assert all_of(closed, resource_type) == {}


def test_a_closed_network_has_no_public_subnets(closed: Template):
    assert sorted(name[:-8] for name in all_of(closed, "AWS::EC2::Subnet")) == [
        "Networkusw2az1ComputeSubnet",
        "Networkusw2az1PrivateSubnet",
        "Networkusw2az4ComputeSubnet",
        "Networkusw2az4PrivateSubnet",
    ]


def test_every_service_that_nodes_call_has_an_endpoint(closed: Template):
    assert set(interface_endpoints_in(closed)) == set(interface_endpoints(InternetAccess.NONE))
    assert len(interface_endpoints_in(closed)) >= 12


def test_endpoints_have_private_dns_names_in_every_az(closed: Template):
    private = [{"Ref": id_of(closed, "AWS::EC2::Subnet", f"{zone}PrivateSubnet")} for zone in ("usw2az4", "usw2az1")]
    for endpoint in interface_endpoints_in(closed).values():
        assert endpoint["PrivateDnsEnabled"] is True
        assert endpoint["SubnetIds"] == private


def test_endpoints_accept_https_from_the_vpc_and_open_no_connections(closed: Template):
    group_id = id_of(closed, "AWS::EC2::SecurityGroup", "EndpointsSecurityGroup")
    group = named(closed, "AWS::EC2::SecurityGroup", "EndpointsSecurityGroup")["Properties"]
    rules = [
        (rule["IpProtocol"], rule["FromPort"], rule["ToPort"], rule["CidrIp"]) for rule in group["SecurityGroupIngress"]
    ]
    assert rules == [("tcp", 443, 443, "10.0.0.0/16"), ("tcp", 443, 443, "10.1.0.0/16")]
    assert [rule["CidrIp"] for rule in group["SecurityGroupEgress"]] == ["127.0.0.1/32"]
    for endpoint in interface_endpoints_in(closed).values():
        assert endpoint["SecurityGroupIds"] == [{"Fn::GetAtt": [group_id, "GroupId"]}] or endpoint[
            "SecurityGroupIds"
        ] == [{"Ref": group_id}]


def test_secrets_and_keys_are_for_principals_of_the_account_only(make: Make):
    endpoints = interface_endpoints_in(
        make(internet=InternetAccess.NONE, endpoint_features=[EndpointFeature.ACCOUNTING])
    )
    for name in ("kms", "secretsmanager"):
        (statement,) = endpoints[name]["PolicyDocument"]["Statement"]
        assert statement["Condition"] == {"StringEquals": {"aws:PrincipalAccount": "111122223333"}}
    # Agents of the service on a node may call these with credentials of another account.
    assert not any("PolicyDocument" in endpoints[name] for name in ("ssm", "ssmmessages", "logs", "ecr.api"))


def test_nodes_can_connect_only_with_https(closed: Template):
    group = named(closed, "AWS::EC2::SecurityGroup", "NetworkSecurityGroup")["Properties"]
    assert [(rule["IpProtocol"], rule["FromPort"], rule["CidrIp"]) for rule in group["SecurityGroupEgress"]] == [
        ("tcp", 443, "0.0.0.0/0")
    ]
    assert [rule for rule in properties(closed, "AWS::EC2::SecurityGroupEgress") if "CidrIp" in rule] == []


def test_features_and_additional_endpoints_are_added(make: Make):
    template = make(endpoint_features=[EndpointFeature.METRICS], endpoints=["sqs", "ssm"])
    assert set(interface_endpoints_in(template)) == {
        "ssm",
        "ssmmessages",
        "ec2messages",
        "logs",
        "aps-workspaces",
        "sqs",
    }


def test_s3_has_a_gateway_endpoint_without_internet_access(closed: Template):
    (gateway,) = (one for one in properties(closed, ENDPOINT) if one["VpcEndpointType"] == "Gateway")
    assert {table["Ref"] for table in gateway["RouteTableIds"]} == set(all_of(closed, "AWS::EC2::RouteTable"))


def test_an_az_without_a_service_has_no_interface_of_its_endpoint(make: Make):
    gaps = {"usw2-az4": ["ec2messages"]}
    template = make(availability_zone_ids=TWO_ZONES, internet=InternetAccess.NONE, without_endpoints=gaps)
    subnets = {name: len(one["SubnetIds"]) for name, one in interface_endpoints_in(template).items()}
    assert (subnets["ec2messages"], subnets["ssm"]) == (1, 2)
    other = {"Ref": id_of(template, "AWS::EC2::Subnet", "usw2az1PrivateSubnet")}
    assert interface_endpoints_in(template)["ec2messages"]["SubnetIds"] == [other]


def test_with_nat_an_endpoint_without_any_az_is_not_created(make: Make):
    template = make(without_endpoints={"usw2-az4": ["ec2messages"]})
    assert set(interface_endpoints_in(template)) == {"ssm", "ssmmessages", "logs"}


def test_all_traffic_of_the_vpc_is_logged_for_90_days(make: Make):
    template = make()
    log = only(template, "AWS::EC2::FlowLog")["Properties"]
    assert (log["ResourceType"], log["TrafficType"]) == ("VPC", "ALL")
    assert log["ResourceId"] == {"Ref": id_of(template, "AWS::EC2::VPC")}
    assert log["LogGroupName"] == {"Ref": id_of(template, "AWS::Logs::LogGroup")}
    group = only(template, "AWS::Logs::LogGroup")
    assert group["Properties"] == {"RetentionInDays": 90}
    assert group["DeletionPolicy"] == "RetainExceptOnCreate"


def test_another_retention_and_a_custom_key(stack: cdk.Stack):
    key = kms.Key(stack, "Key")
    FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], flow_log_days=365), encryption_key=key
    )
    template = Template.from_stack(stack)
    assert only(template, "AWS::Logs::LogGroup")["Properties"] == {
        "RetentionInDays": 365,
        "KmsKeyId": {"Fn::GetAtt": [id_of(template, "AWS::KMS::Key"), "Arn"]},
    }


def test_the_role_is_for_flow_logs_of_this_account_and_can_write_to_one_log_group(make: Make):
    template = make()
    (trust,) = only(template, "AWS::IAM::Role")["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "vpc-flow-logs.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": "111122223333"}
    assert "111122223333:vpc-flow-log/*" in str(trust["Condition"]["ArnLike"]["aws:SourceArn"])
    policy = only(template, "AWS::IAM::ManagedPolicy")["Properties"]
    assert policy["Roles"] == [{"Ref": id_of(template, "AWS::IAM::Role")}]
    assert policy["PolicyDocument"]["Statement"] == [
        {
            "Sid": "WriteFlowRecords",
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            "Resource": {"Fn::GetAtt": [id_of(template, "AWS::Logs::LogGroup"), "Arn"]},
        }
    ]


def test_the_flow_log_depends_on_its_permission(make: Make):
    template = make()
    assert only(template, "AWS::EC2::FlowLog")["DependsOn"] == [id_of(template, "AWS::IAM::ManagedPolicy")]
