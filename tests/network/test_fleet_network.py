"""Resources of a network with internet access."""

import html
import os
import re

import aws_cdk as cdk
import botocore.session
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template
from botocore.model import StructureShape

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network
from llm_fleet.network.security_group import rule_description
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.network import NetworkSpec
from tests.network.conftest import TWO_ZONES, Make, all_of, id_of, name_of, named, only, properties
from tools.synth_environment import ROOT

SUBNET = "AWS::EC2::Subnet"


def cidrs(template: Template) -> dict[str, str]:
    """Each subnet's CIDR, by Name tag."""
    return {name_of(subnet): subnet["Properties"]["CidrBlock"] for subnet in all_of(template, SUBNET).values()}


def test_fleet_network_is_a_network(stack: cdk.Stack):
    made: Network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=TWO_ZONES))
    assert made.availability_zone_ids == tuple(TWO_ZONES)
    assert list(made.compute_subnets) == TWO_ZONES


def test_subnets_are_in_azs_by_id_and_assign_no_public_address(make: Make):
    subnets = properties(make(availability_zone_ids=TWO_ZONES), SUBNET)
    assert sorted(subnet["AvailabilityZoneId"] for subnet in subnets) == ["usw2-az1"] * 3 + ["usw2-az4"] * 3
    assert all(subnet["MapPublicIpOnLaunch"] is False for subnet in subnets)
    assert not any("AvailabilityZone" in subnet for subnet in subnets)


def test_one_az_has_half_of_the_compute_block(make: Make):
    assert cidrs(make()) == {
        "Test/Network/usw2-az4/private": "10.0.0.0/20",
        "Test/Network/usw2-az4/public": "10.0.128.0/20",
        "Test/Network/usw2-az4/compute": "10.1.0.0/17",
    }


def test_each_az_has_half_of_the_rest_of_the_compute_block(make: Make):
    found = cidrs(make(availability_zone_ids=[*TWO_ZONES, "usw2-az2"], compute_cidr="100.64.0.0/16"))
    assert [found[f"Test/Network/{zone}/compute"] for zone in (*TWO_ZONES, "usw2-az2")] == [
        "100.64.0.0/17",
        "100.64.128.0/18",
        "100.64.192.0/19",
    ]


def test_an_additional_az_changes_no_private_or_public_subnet_and_no_logical_id(app: cdk.App):
    stacks = [cdk.Stack(app, name) for name in ("One", "Two")]
    for stack, zones in zip(stacks, (TWO_ZONES[:1], TWO_ZONES), strict=True):
        FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=zones))
    one, two = (
        {
            logical_id: subnet["Properties"]["CidrBlock"]
            for logical_id, subnet in all_of(Template.from_stack(stack), SUBNET).items()
            if "Compute" not in logical_id
        }
        for stack in stacks
    )
    assert len(one) == 2
    assert one.items() <= two.items()


def test_compute_subnets_depend_on_their_block(make: Make):
    template = make(availability_zone_ids=TWO_ZONES)
    block = id_of(template, "AWS::EC2::VPCCidrBlock")
    assert only(template, "AWS::EC2::VPCCidrBlock")["Properties"]["CidrBlock"] == "10.1.0.0/16"
    waiting = [name for name, subnet in all_of(template, SUBNET).items() if subnet.get("DependsOn") == [block]]
    assert len(waiting) == 2
    assert all("Compute" in name for name in waiting)


def test_dns_names_are_enabled(make: Make):
    vpc = only(make(), "AWS::EC2::VPC")["Properties"]
    assert vpc["EnableDnsHostnames"] is True
    assert vpc["EnableDnsSupport"] is True


@pytest.mark.parametrize("resource_type", ["AWS::EC2::NatGateway", "AWS::EC2::EIP", "AWS::EC2::Route"])
def test_resources_that_use_the_internet_gateway_depend_on_its_attachment(make: Make, resource_type: str):
    template = make()
    attachment = id_of(template, "AWS::EC2::VPCGatewayAttachment")
    found = all_of(template, resource_type).values()
    needing = [one for one in found if "NatGatewayId" not in one["Properties"]]
    assert needing
    assert all(one["DependsOn"] == [attachment] for one in needing)


def test_each_az_has_its_own_nat_gateway_and_route(make: Make):
    template = make(availability_zone_ids=TWO_ZONES)
    assert len(all_of(template, "AWS::EC2::EIP")) == 2
    for zone in ("usw2az4", "usw2az1"):
        gateway = id_of(template, "AWS::EC2::NatGateway", zone)
        assert named(template, "AWS::EC2::NatGateway", zone)["Properties"]["SubnetId"] == {
            "Ref": id_of(template, SUBNET, f"{zone}PublicSubnet")
        }
        route = named(template, "AWS::EC2::Route", zone)["Properties"]
        assert route["DestinationCidrBlock"] == "0.0.0.0/0"
        assert route["NatGatewayId"] == {"Ref": gateway}
        assert route["RouteTableId"] == {"Ref": id_of(template, "AWS::EC2::RouteTable", zone)}


def test_a_shared_nat_gateway_is_in_the_first_az_and_used_by_all(make: Make):
    template = make(availability_zone_ids=TWO_ZONES, internet=InternetAccess.SHARED_NAT)
    gateway = id_of(template, "AWS::EC2::NatGateway", "usw2az4")
    routes = [route for route in properties(template, "AWS::EC2::Route") if "NatGatewayId" in route]
    assert [route["NatGatewayId"] for route in routes] == [{"Ref": gateway}] * 2


def test_private_and_compute_subnets_share_a_route_table_and_only_public_subnets_use_the_internet_gateway(make: Make):
    template = make()
    tables = {
        one["SubnetId"]["Ref"]: one["RouteTableId"]["Ref"]
        for one in properties(template, "AWS::EC2::SubnetRouteTableAssociation")
    }
    private, compute, public = (tables[id_of(template, SUBNET, kind)] for kind in ("Private", "Compute", "Public"))
    assert private == compute != public
    (open_route,) = (route for route in properties(template, "AWS::EC2::Route") if "GatewayId" in route)
    assert open_route["RouteTableId"] == {"Ref": public}


def test_every_private_route_table_has_the_s3_endpoint(make: Make):
    template = make(availability_zone_ids=TWO_ZONES)
    (gateway,) = (one for one in properties(template, "AWS::EC2::VPCEndpoint") if one["VpcEndpointType"] == "Gateway")
    assert gateway["ServiceName"] == "com.amazonaws.us-west-2.s3"
    inner = {table for table in all_of(template, "AWS::EC2::RouteTable") if "usw2" in table}
    assert {table["Ref"] for table in gateway["RouteTableIds"]} == inner
    assert len(inner) == 2


def test_constructs_of_the_cdk_can_select_subnets_of_the_vpc(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=TWO_ZONES))
    groups = {
        name: len(network.vpc.select_subnets(subnet_group_name=name).subnet_ids)
        for name in ("Public", "Private", "Compute")
    }
    assert groups == {"Public": 2, "Private": 2, "Compute": 2}
    chosen = network.vpc.select_subnets(subnet_group_name="Compute").subnet_ids
    assert stack.resolve(chosen) == [stack.resolve(network.compute_subnet(zone).subnet_id) for zone in TWO_ZONES]


def test_the_compute_subnet_of_an_az_of_no_az_and_of_an_unknown_az(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=TWO_ZONES))
    first, second = (stack.resolve(network.compute_subnet(zone).subnet_id) for zone in TWO_ZONES)
    assert stack.resolve(network.compute_subnet().subnet_id) == first != second
    assert network.compute_subnet("usw2-az1").ipv4_cidr_block == "10.1.128.0/18"
    with pytest.raises(FleetError) as caught:
        network.compute_subnet("usw2-az2")
    assert [problem.code for problem in caught.value.problems] == [Code.ZONE_WITHOUT_SUBNET]
    assert caught.value.subject == "Test/Network"


def test_all_errors_are_reported_together_before_anything_is_created(stack: cdk.Stack):
    with pytest.raises(FleetError) as caught:
        FleetNetwork(
            stack, "Network", NetworkSpec(availability_zone_ids=["use1-az6"], cidr="8.8.0.0/16", flow_log_days=4)
        )
    assert {problem.code for problem in caught.value.problems} == {
        Code.ZONE_REGION,
        Code.CIDR_RANGE,
        Code.FLOW_LOG_DAYS,
    }
    assert "Test/Network" in str(caught.value)
    assert stack.node.try_find_child("Network") is None


def test_values_can_be_tokens(app: cdk.App):
    """In a stack without a region, with parameters for the blocks and an AZ."""
    stack = cdk.Stack(app, "Agnostic")
    blocks = [cdk.CfnParameter(stack, name, default=f"10.{name[-1]}.0.0/16") for name in ("Cidr0", "Cidr1")]
    zone = cdk.CfnParameter(stack, "Zone")
    network = FleetNetwork(
        stack,
        "Network",
        NetworkSpec(
            availability_zone_ids=[zone.value_as_string, "usw2-az1"],
            cidr=blocks[0].value_as_string,
            compute_cidr=blocks[1].value_as_string,
        ),
    )
    zone_1 = network.zones[1]
    assert zone_1.compute is not None
    assert stack.resolve(zone_1.compute.cidr_block) == {"Fn::Select": [2, {"Fn::Cidr": [{"Ref": "Cidr1"}, 4, "14"]}]}
    assert stack.resolve(zone_1.private.cidr_block) == {"Fn::Select": [1, {"Fn::Cidr": [{"Ref": "Cidr0"}, 16, "12"]}]}
    template = Template.from_stack(stack)
    assert named(template, SUBNET, "Az1Compute")["Properties"]["AvailabilityZoneId"] == {"Ref": "Zone"}


def test_a_cluster_can_depend_on_internet_access(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    waiting = cdk.CfnResource(stack, "Cluster", type="AWS::SageMaker::Cluster")
    waiting.node.add_dependency(network.connectivity)
    template = Template.from_stack(stack)
    needed = {id_of(template, "AWS::EC2::Route", "usw2az4"), id_of(template, "AWS::EC2::VPCEndpoint", "Endpointss3")}
    assert needed <= set(only(template, "AWS::SageMaker::Cluster")["DependsOn"])


def test_connections_allow_other_resources(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    database = ec2.SecurityGroup(stack, "Database", vpc=network.vpc, allow_all_outbound=False)
    database.connections.allow_from(network, ec2.Port.tcp(3306))
    ports = [
        rule["FromPort"]
        for rule in properties(Template.from_stack(stack), "AWS::EC2::SecurityGroupIngress")
        if "FromPort" in rule
    ]
    assert ports == [3306]


def kept(template: Template) -> set[str]:
    """Logical ids, without their hashes, of what is retained on deletion and on replacement."""
    resources = template.to_json()["Resources"]
    return {
        name[:-8]
        for name, resource in resources.items()
        if (resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy")) == ("RetainExceptOnCreate", "Retain")
    }


def test_only_flow_logs_are_retained_by_default(stack: cdk.Stack):
    FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    assert kept(Template.from_stack(stack)) == {"NetworkFlowLogsLogGroup"}


def test_keep_retains_the_resources_that_a_file_system_depends_on_and_can_be_called_again(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"]))
    network.keep()
    network.keep()
    assert kept(Template.from_stack(stack)) == {
        "Network",
        "NetworkComputeCidr",
        "Networkusw2az1ComputeSubnet",
        "Networkusw2az4ComputeSubnet",
        "NetworkSecurityGroup",
        "NetworkSecurityGroupSelfIngress",
        "NetworkSecurityGroupSelfEgress",
        "NetworkFlowLogsLogGroup",
    }


def test_a_description_has_only_characters_that_ec2_accepts() -> None:
    model = botocore.session.get_session().get_service_model("ec2")
    shape = model.shape_for("UserIdGroupPair")
    assert isinstance(shape, StructureShape)
    member = str(shape.members["Description"].documentation)
    match = re.search(r"Allowed characters are a-z, A-Z, 0-9, spaces, and (\S+?)</p>", member)
    assert match
    marks = html.unescape(match[1])
    assert rule_description(f"aZ 09{marks}") == f"aZ 09{marks}"
    assert "Up to 255 characters" in member
    assert len(rule_description("x" * 300)) == 255
    assert rule_description("a cluster's & é") == "a cluster-s - -"


GOLDEN = ROOT / "tests" / "network" / "golden"


@pytest.mark.parametrize("internet", list(InternetAccess))
def test_golden_logical_ids(stack: cdk.Stack, internet: InternetAccess):
    FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=TWO_ZONES, internet=internet))
    resources = Template.from_stack(stack).to_json()["Resources"]
    listed = "".join(f"{name} {resource['Type']}\n" for name, resource in sorted(resources.items()))
    golden = GOLDEN / f"{internet.value}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(listed)
    assert golden.read_text() == listed, "logical ids have changed: if this is intended, run `make golden`"
