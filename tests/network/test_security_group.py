"""All traffic between members, both ways, and no side effects of the CDK."""

from ipaddress import IPv4Network, collapse_addresses

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from llm_fleet.network.security_group import EfaSecurityGroup
from tests.network.conftest import id_of, name_of, only, properties

GROUP = "AWS::EC2::SecurityGroup"
INGRESS = "AWS::EC2::SecurityGroupIngress"
EGRESS = "AWS::EC2::SecurityGroupEgress"


@pytest.fixture
def vpc(stack: cdk.Stack) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=["us-west-2a"])


def test_self_ingress_and_self_egress_are_both_in_the_template(stack: cdk.Stack, vpc: ec2.IVpc):
    """EFA does not work with only one of them, and CloudFormation does not report it."""
    EfaSecurityGroup(stack, "Group", vpc=vpc)
    template = Template.from_stack(stack)
    itself = {"Fn::GetAtt": [id_of(template, GROUP), "GroupId"]}
    assert [
        (rule["IpProtocol"], rule["GroupId"], rule["SourceSecurityGroupId"]) for rule in properties(template, INGRESS)
    ] == [("-1", itself, itself)]
    assert [
        (rule["IpProtocol"], rule["GroupId"], rule["DestinationSecurityGroupId"])
        for rule in properties(template, EGRESS)
        if "DestinationSecurityGroupId" in rule
    ] == [("-1", itself, itself)]


def test_it_has_a_name_tag(stack: cdk.Stack, vpc: ec2.IVpc):
    EfaSecurityGroup(stack, "Group", vpc=vpc)
    assert name_of(only(Template.from_stack(stack), GROUP)) == "Test/Group"


def test_by_default_members_can_connect_to_all_addresses(stack: cdk.Stack, vpc: ec2.IVpc):
    EfaSecurityGroup(stack, "Group", vpc=vpc)
    rules = [rule for rule in properties(Template.from_stack(stack), EGRESS) if "CidrIp" in rule]
    assert {rule["IpProtocol"] for rule in rules} == {"-1"}
    whole = list(collapse_addresses(IPv4Network(rule["CidrIp"]) for rule in rules))
    assert whole == [IPv4Network("0.0.0.0/0")]
    # assumption: cloudformation-egress-removes-everything-out
    assert "0.0.0.0/0" not in [rule["CidrIp"] for rule in rules], "the first rule to a file system would take it away"


def test_no_address_outside_is_allowed(stack: cdk.Stack, vpc: ec2.IVpc):
    EfaSecurityGroup(stack, "Group", vpc=vpc)
    template = Template.from_stack(stack)
    assert "SecurityGroupIngress" not in only(template, GROUP)["Properties"]
    assert not any("CidrIp" in rule for rule in properties(template, INGRESS))


def test_rules_to_other_groups_are_in_the_template(stack: cdk.Stack, vpc: ec2.IVpc):
    """With the CDK's `allow_all_outbound=True` this egress rule would be missing."""
    group = EfaSecurityGroup(stack, "Group", vpc=vpc)
    other = ec2.SecurityGroup(stack, "Other", vpc=vpc, allow_all_outbound=False)
    group.connections.allow_to(other, ec2.Port.tcp(988))
    rules = [rule for rule in properties(Template.from_stack(stack), EGRESS) if rule.get("FromPort") == 988]
    assert len(rules) == 1


def test_a_file_system_depends_only_on_the_rules(stack: cdk.Stack, vpc: ec2.IVpc):
    group = EfaSecurityGroup(stack, "Group", vpc=vpc)
    group.add_ingress_rule(ec2.Peer.ipv4("10.0.0.0/16"), ec2.Port.tcp(22))
    waiting = cdk.CfnResource(stack, "FileSystem", type="AWS::FSx::FileSystem")
    waiting.node.add_dependency(group.rules)
    template = Template.from_stack(stack)
    assert set(only(template, "AWS::FSx::FileSystem")["DependsOn"]) == {
        id_of(template, INGRESS, "SelfIngress"),
        id_of(template, EGRESS, "SelfEgress"),
    }
