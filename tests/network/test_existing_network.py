"""An existing network, by ids or by constructs."""

import json
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match, Template

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import ExistingNetwork, Network
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec

VPC = "vpc-0123456789abcdef0"
SUBNETS = {"usw2-az4": "subnet-0123456789abcdef4", "usw2-az1": "subnet-0123456789abcdef1"}
GROUP = "sg-0123456789abcdef0"
CLAIM = AddressClaim.for_instances(owner="train/workers", instance_types="ml.p5.48xlarge", count=40)


def test_an_existing_network_by_ids_creates_nothing_and_looks_up_nothing(app: cdk.App, stack: cdk.Stack):
    network: Network = FleetNetwork.from_attributes(
        stack, "Network", ExistingNetworkSpec(vpc=VPC, subnets=SUBNETS, security_group=GROUP)
    )
    assert network.vpc.vpc_id == VPC
    assert network.availability_zone_ids == ("usw2-az4", "usw2-az1")
    assert network.compute_subnet().subnet_id == SUBNETS["usw2-az4"]
    assert network.compute_subnet("usw2-az1").subnet_id == SUBNETS["usw2-az1"]
    assert network.security_group.security_group_id == GROUP
    network.keep()
    cluster = cdk.CfnResource(stack, "Cluster", type="AWS::SageMaker::Cluster")
    cluster.node.add_dependency(network.connectivity, network.security_group_rules)
    assembly = app.synth()
    template = assembly.get_stack_by_name("Test").template
    assert template["Resources"] == {"Cluster": {"Type": "AWS::SageMaker::Cluster"}}
    assert "missing" not in json.loads((Path(assembly.directory) / "manifest.json").read_text())


def test_an_existing_network_has_no_warnings(stack: cdk.Stack):
    FleetNetwork.from_attributes(stack, "Network", ExistingNetworkSpec(vpc=VPC, subnets=SUBNETS, security_group=GROUP))
    assert Annotations.from_stack(stack).find_warning("*", Match.any_value()) == []


def test_the_rules_of_a_given_group_are_not_changed(stack: cdk.Stack):
    network = FleetNetwork.from_attributes(
        stack, "Network", ExistingNetworkSpec(vpc=VPC, subnets=SUBNETS, security_group=GROUP)
    )
    network.security_group.add_ingress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(988))
    Template.from_stack(stack).resource_count_is("AWS::EC2::SecurityGroupIngress", 0)


def test_without_a_group_one_for_efa_is_created_and_can_be_retained(stack: cdk.Stack):
    network = FleetNetwork.from_attributes(stack, "Network", ExistingNetworkSpec(vpc=VPC, subnets=SUBNETS))
    network.keep()
    template = Template.from_stack(stack)
    template.has_resource(
        "AWS::EC2::SecurityGroup", {"DeletionPolicy": "RetainExceptOnCreate", "Properties": {"VpcId": VPC}}
    )
    template.resource_count_is("AWS::EC2::SecurityGroupIngress", 1)
    template.resource_count_is("AWS::EC2::SecurityGroupEgress", 3)


def test_an_existing_network_by_constructs(stack: cdk.Stack):
    made = FleetNetwork(stack, "Made", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    network: Network = FleetNetwork.from_attributes(
        stack,
        "Network",
        ExistingNetworkSpec(vpc=made.vpc, subnets=made.compute_subnets, security_group=made.security_group),
    )
    assert network.vpc is made.vpc
    assert network.compute_subnet().subnet_id == made.compute_subnet().subnet_id
    assert network.connections.security_groups[0].security_group_id == made.security_group.security_group_id


def test_ids_and_constructs_can_be_mixed(stack: cdk.Stack):
    made = FleetNetwork(stack, "Made", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"]))
    own = made.compute_subnet("usw2-az4")
    subnets = {"usw2-az4": own, "usw2-az1": SUBNETS["usw2-az1"]}
    in_construct = FleetNetwork.from_attributes(
        stack, "InConstruct", ExistingNetworkSpec(vpc=made.vpc, subnets=subnets, security_group=GROUP)
    )
    in_id = FleetNetwork.from_attributes(
        stack, "InId", ExistingNetworkSpec(vpc=VPC, subnets=subnets, security_group=made.security_group)
    )
    for network in (in_construct, in_id):
        assert network.compute_subnet() is own
        assert network.compute_subnet("usw2-az1").subnet_id == SUBNETS["usw2-az1"]
    assert in_construct.security_group.security_group_id == GROUP
    assert in_id.security_group is made.security_group
    assert Annotations.from_stack(stack).find_warning("*", Match.any_value()) == []


def test_a_subnet_of_unknown_size_is_not_checked(app: cdk.App, stack: cdk.Stack):
    network = FleetNetwork.from_attributes(
        stack, "Network", ExistingNetworkSpec(vpc=VPC, subnets=SUBNETS, security_group=GROUP)
    )
    assert network.reserve_addresses([CLAIM]) == []
    app.synth()


def test_a_subnet_of_known_size_is_checked(stack: cdk.Stack):
    network = FleetNetwork.from_attributes(
        stack,
        "Network",
        ExistingNetworkSpec(vpc=VPC, subnets=SUBNETS, security_group=GROUP, compute_cidrs={"usw2-az4": "10.0.8.0/24"}),
    )
    (problem,) = network.reserve_addresses([CLAIM])
    assert problem.code == Code.SUBNET_TOO_SMALL
    assert problem.where == "network.compute_cidrs.usw2-az4"
    assert problem.value == "10.0.8.0/24"
    assert "use a subnet with a /21 or larger" in problem.remedy


def test_an_unknown_az_is_reported(stack: cdk.Stack):
    network = FleetNetwork.from_attributes(
        stack, "Network", ExistingNetworkSpec(vpc=VPC, subnets=SUBNETS, security_group=GROUP)
    )
    with pytest.raises(FleetError, match="LF206"):
        network.compute_subnet("usw2-az2")


def test_invalid_ids_are_reported_together(stack: cdk.Stack):
    with pytest.raises(FleetError) as caught:
        FleetNetwork.from_attributes(stack, "Network", ExistingNetworkSpec(vpc="mine", subnets={"use1-az6": "yours"}))
    assert [(problem.code, problem.where) for problem in caught.value.problems] == [
        (Code.ZONE_REGION, "subnets.use1-az6"),
        (Code.EXISTING_ID, "vpc"),
        (Code.EXISTING_ID, "subnets.use1-az6"),
    ]
    assert stack.node.children == []


def test_constructs_without_an_az_are_reported(stack: cdk.Stack):
    made = FleetNetwork(stack, "Made", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    with pytest.raises(FleetError, match="LF207"):
        FleetNetwork.from_attributes(stack, "Network", ExistingNetworkSpec(vpc=made.vpc, subnets={}))


def test_invalid_blocks_are_rejected_by_constructs_too(stack: cdk.Stack):
    vpc = ec2.Vpc(stack, "Vpc")
    subnets = {"usw2-az4": vpc.private_subnets[0]}
    with pytest.raises(FleetError) as error:
        ExistingNetwork(
            stack, "Network", ExistingNetworkSpec(vpc=vpc, subnets=subnets, compute_cidrs={"usw2-az4": "hello"})
        )
    assert error.value.problems[0].code is Code.CIDR_INVALID
    known_later = {"usw2-az4": cdk.Fn.import_value("Block")}
    FleetNetwork.from_attributes(stack, "Ids", ExistingNetworkSpec(vpc=VPC, subnets=SUBNETS, compute_cidrs=known_later))
