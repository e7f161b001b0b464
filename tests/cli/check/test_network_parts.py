"""What prevents the missing parts of a network in its existing VPC, and nothing after the deployment."""

from dataclasses import dataclass
from typing import Any

import pytest

from llm_fleet_local.aws.client import LocalAws
from tests.cli.check.conftest import Check

_FLEET = """
fleet: mine
region: us-west-2
network:
  az: usw2-az4
  existing:
    vpc: {vpc}
    subnets: {{usw2-az4: {subnet}}}
    security_group: {group}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {{role: controller, type: ml.m5.xlarge, count: 1}}
      trn1: {{role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}}
"""
_HTTPS = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443}
_QUESTION = "missing parts of "


@dataclass(frozen=True, slots=True)
class Parts:
    """What a deleted network stack retains."""

    vpc: str
    subnet: str
    group: str

    @property
    def fleet(self) -> str:
        return _FLEET.format(vpc=self.vpc, subnet=self.subnet, group=self.group)


@pytest.fixture(scope="module")
def parts(aws: LocalAws) -> Parts:
    ec2 = aws.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock="10.1.0.0/16")
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.1.0.0/17", AvailabilityZoneId="usw2-az4")["Subnet"]["SubnetId"]
    group = ec2.create_security_group(VpcId=vpc, GroupName="nodes", Description="nodes")["GroupId"]
    own = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=own)
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=own)
    return Parts(vpc, subnet, group)


def test_nothing_is_in_the_way_of_the_parts_that_a_stack_deleted(check: Check, parts: Parts):
    checked = check(parts.fleet, "--json", "--only", "network")
    assert {name: row["problems"] for name, row in checked.rows.items() if row["problems"]} == {}
    assert checked.rows[f"{_QUESTION}{parts.vpc}"]["detail"] == "nothing prevents them"
    assert f"EFA rules of {parts.group}" in checked.rows


def test_a_vpc_with_other_addresses_or_without_its_gateway_is_reported(check: Check, parts: Parts):
    text = parts.fleet.replace("az: usw2-az4\n", "az: usw2-az4\n  compute_cidr: 10.2.0.0/16\n", 1)
    text = text.replace("    vpc:", "    internet_gateway: igw-0123456789abcdef0\n    vpc:")
    checked = check(text, "--json", "--only", "network")
    assert [(one["where"], one["given"]) for one in checked.rows[f"{_QUESTION}{parts.vpc}"]["problems"]] == [
        ("network.compute_cidr", "10.2.0.0/16"),
        ("network.existing.internet_gateway", "igw-0123456789abcdef0"),
    ]


@pytest.mark.parametrize(("internet", "ports"), [("shared-nat", {"IpProtocol": "-1"}), ("none", _HTTPS)])
def test_outbound_rules_that_the_group_has_already_are_reported(
    check: Check, parts: Parts, aws: LocalAws, internet: str, ports: dict[str, Any]
):
    text, question = (
        parts.fleet.replace("  existing:", f"  internet: {internet}\n  existing:"),
        "security group rules to add",
    )
    row = check(text, "--json", "--only", "network").rows[question]
    assert (row["verdict"], row["detail"]) == ("good", "2 rules for 1 security groups")
    rule = [{**ports, "IpRanges": [{"CidrIp": "128.0.0.0/1"}]}]
    aws.client("ec2").authorize_security_group_egress(GroupId=parts.group, IpPermissions=rule)
    try:
        problem = check(text, "--json", "--only", "network").only(question)
    finally:
        aws.client("ec2").revoke_security_group_egress(GroupId=parts.group, IpPermissions=rule)
    assert (problem["code"], problem["where"]) == ("LF1056", "network.existing.security_group")
    assert f"revoke-security-group-egress --group-id {parts.group}" in problem["remedy"]


def test_a_vpc_without_dns_is_reported(check: Check, parts: Parts, aws: LocalAws):
    attributes = {"EnableDnsSupport": "enable-dns-support", "EnableDnsHostnames": "enable-dns-hostnames"}
    for name, option in attributes.items():
        aws.client("ec2").modify_vpc_attribute(VpcId=parts.vpc, **{name: {"Value": False}})
        try:
            problem = check(parts.fleet, "--json", "--only", "network").only(f"{_QUESTION}{parts.vpc}")
        finally:
            aws.client("ec2").modify_vpc_attribute(VpcId=parts.vpc, **{name: {"Value": True}})
        assert (problem["code"], problem["where"], problem["given"]) == ("LF1059", "network.existing.vpc", parts.vpc)
        assert f"modify-vpc-attribute --vpc-id {parts.vpc} --{option} --region" in problem["remedy"]


def test_a_vpc_that_does_not_exist_is_reported(check: Check, parts: Parts):
    checked = check(parts.fleet.replace(parts.vpc, "vpc-0123456789abcdef9"), "--json", "--only", "network")
    (problem,) = checked.rows[f"{_QUESTION}vpc-0123456789abcdef9"]["problems"]
    assert (problem["code"], problem["where"]) == ("LF1045", "network.existing.vpc")


def test_each_obstacle_is_reported_with_its_command(check: Check, parts: Parts, aws: LocalAws):
    # The last test: the other ones need a VPC without obstacles, and an account has a quota of VPCs.
    ec2 = aws.client("ec2")
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=parts.vpc)
    table = ec2.create_route_table(VpcId=parts.vpc)["RouteTable"]["RouteTableId"]
    association = ec2.associate_route_table(RouteTableId=table, SubnetId=parts.subnet)["AssociationId"]
    endpoint = ec2.create_vpc_endpoint(
        VpcId=parts.vpc,
        VpcEndpointType="Interface",
        ServiceName="com.amazonaws.us-west-2.ssm",
        SubnetIds=[parts.subnet],
        PrivateDnsEnabled=True,
    )["VpcEndpoint"]["VpcEndpointId"]
    other = ec2.create_subnet(VpcId=parts.vpc, CidrBlock="10.0.0.0/24", AvailabilityZoneId="usw2-az1")["Subnet"]
    # Its addresses are in no subnet of the network.
    ec2.create_subnet(VpcId=parts.vpc, CidrBlock="10.0.96.0/24", AvailabilityZoneId="usw2-az1")
    checked = check(parts.fleet, "--json", "--only", "network")
    problems = checked.rows[f"{_QUESTION}{parts.vpc}"]["problems"]
    assert [(one["code"], one["given"]) for one in problems] == [
        ("LF1059", gateway),
        ("LF1059", table),
        ("LF1059", endpoint),
        ("LF1059", other["SubnetId"]),
    ]
    remedies = [one["remedy"] for one in problems]
    assert f"internet_gateway: {gateway}" in remedies[0]
    assert f"disassociate-route-table --association-id {association} --region us-west-2" in remedies[1]
    assert "lose the routes to the internet" in remedies[1]
    assert f"delete-vpc-endpoints --vpc-endpoint-ids {endpoint}" in remedies[2]

    named = parts.fleet.replace("    vpc:", f"    internet_gateway: {gateway}\n    vpc:")
    checked = check(named, "--json", "--only", "network")
    assert gateway not in [one["given"] for one in checked.rows[f"{_QUESTION}{parts.vpc}"]["problems"]]
