"""A network of which some parts exist already: all others are created."""

import re
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network import check_network
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.network import ExistingParts, NetworkSpec
from llm_fleet.spec.storage import LustreSpec
from llm_fleet.storage.lustre import LustreFileSystem
from tests.network.conftest import TWO_ZONES, Make, all_of, only

VPC, GROUP, GATEWAY = "vpc-0123456789abcdef0", "sg-0123456789abcdef0", "igw-0123456789abcdef0"
SUBNETS = {"usw2-az4": "subnet-0123456789abcdef4", "usw2-az1": "subnet-0123456789abcdef1"}
DATABASE = ["subnet-0123456789abcdef7", "subnet-0123456789abcdef8"]
PARTS = ExistingParts(vpc=VPC, subnets=SUBNETS, security_group=GROUP)
PARTS_OF_ONE = ExistingParts(vpc=VPC, subnets={"usw2-az4": SUBNETS["usw2-az4"]}, security_group=GROUP)
EGRESS, ASSOCIATION = "AWS::EC2::SecurityGroupEgress", "AWS::EC2::SubnetRouteTableAssociation"
_KEPT = {
    "AWS::EC2::VPC": 1,
    "AWS::EC2::VPCCidrBlock": 1,
    "AWS::EC2::SecurityGroup": 1,
    "AWS::EC2::SecurityGroupIngress": 1,
}


def _of_type(template: Template) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, resource in template.to_json()["Resources"].items():
        found.setdefault(resource["Type"], {})[name] = resource
    return found


def _without_references(resource: Any) -> str:
    """Return the resource as text, with one word for the VPC, a compute subnet and the group, however it is named."""
    text = re.sub(r"\{'Ref': 'Network\w*ComputeSubnet\w*'\}", "'EXISTING'", str(resource))
    text = re.sub(r"\{'Ref': 'Network[A-F0-9]{8}'\}", "'EXISTING'", text)
    return re.sub(f"'({'|'.join([VPC, GROUP, *SUBNETS.values()])})'", "'EXISTING'", text)


@pytest.mark.parametrize("internet", [InternetAccess.NAT, InternetAccess.SHARED_NAT, InternetAccess.NONE])
def test_all_that_the_stack_of_a_deleted_fleet_had_is_created_with_the_same_settings(
    make: Make, internet: InternetAccess
):
    keys: dict[str, Any] = {
        "availability_zone_ids": TWO_ZONES,
        "internet": internet,
        "endpoints": ["bedrock-runtime"],
        "load_balancer_zone_ids": ["usw2-az2"],
    }
    first, second = _of_type(make(**keys)), _of_type(make(**keys, existing=PARTS))
    for kind in sorted({*first, *second} - {EGRESS}):
        gone = {name for name in first.get(kind, {}) if name not in second.get(kind, {})}
        if kind == "AWS::EC2::Subnet":
            assert len(gone) == len(SUBNETS)
            assert all("ComputeSubnet" in name for name in gone)
        elif kind == "AWS::EC2::SecurityGroup":
            assert ["Endpoints" in name for name in gone] == [False]
        else:
            assert len(gone) == _KEPT.get(kind, 0), (kind, gone)
        for name, resource in second.get(kind, {}).items():
            # Logical ids stay, and so does each property; only the dependency on the second CIDR block is gone.
            assert _without_references(resource) == _without_references(first[kind][name]), name
    routes = [one["Properties"] for one in second.get(ASSOCIATION, {}).values()]
    assert {SUBNETS["usw2-az4"], SUBNETS["usw2-az1"]} < {str(one["SubnetId"]) for one in routes}


@pytest.mark.parametrize(
    ("internet", "ports"), [(InternetAccess.NAT, ("-1", None)), (InternetAccess.NONE, ("tcp", 443))]
)
def test_the_retained_group_gets_the_outbound_rules_that_its_stack_deleted(
    make: Make, internet: InternetAccess, ports: tuple[str, int | None]
):
    rules = [one["Properties"] for one in all_of(make(existing=PARTS_OF_ONE, internet=internet), EGRESS).values()]
    assert {one["CidrIp"] for one in rules} == {"0.0.0.0/1", "128.0.0.0/1"}
    assert {(one["GroupId"], one["IpProtocol"], one.get("FromPort")) for one in rules} == {(GROUP, *ports)}


def test_an_attached_internet_gateway_is_used(make: Make):
    template = make(existing=PARTS_OF_ONE.narrowed(ExistingParts, internet_gateway=GATEWAY))
    template.resource_count_is("AWS::EC2::InternetGateway", 0)
    template.resource_count_is("AWS::EC2::VPCGatewayAttachment", 0)
    template.has_resource_properties("AWS::EC2::Route", {"GatewayId": GATEWAY})
    assert "NatGateway" not in str(only(template, "AWS::EC2::NatGateway").get("DependsOn"))


def test_missing_parts_are_created(make: Make):
    template = make(availability_zone_ids=TWO_ZONES, existing=ExistingParts(vpc=VPC, subnets=PARTS_OF_ONE.subnets))
    compute = [name for name in all_of(template, "AWS::EC2::Subnet") if "ComputeSubnet" in name]
    assert len(compute) == 1
    assert "usw2az1" in compute[0]
    template.has_resource_properties("AWS::EC2::Subnet", {"CidrBlock": "10.1.128.0/18", "VpcId": VPC})
    template.resource_count_is("AWS::EC2::SecurityGroup", 2)
    template.resource_count_is("AWS::EC2::SecurityGroupIngress", 1)


def test_database_subnets_get_their_route_tables_again(stack: cdk.Stack):
    parts = PARTS_OF_ONE.narrowed(ExistingParts, database_subnets=DATABASE)
    network = FleetNetwork(stack, "Network", NetworkSpec(az="usw2-az4", existing=parts))
    assert [subnet.subnet_id for subnet in network.database_subnets()] == DATABASE
    network.keep()
    template = Template.from_stack(stack)
    associated = [one["Properties"]["SubnetId"] for one in all_of(template, ASSOCIATION).values()]
    assert set(DATABASE) < {str(one) for one in associated}
    assert not [name for name in all_of(template, "AWS::EC2::Subnet") if "Database" in name]


def test_a_new_file_system_gets_its_rules_of_the_retained_group(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(az="usw2-az4", existing=PARTS_OF_ONE))
    LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=1200), network=network)
    own = [one["Properties"] for one in all_of(Template.from_stack(stack), EGRESS).values()]
    assert [one["FromPort"] for one in own if one["GroupId"] == GROUP and "DestinationSecurityGroupId" in one] == [
        988,
        1018,
    ]


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"vpc": "vpc-1"}, Code.EXISTING_ID, ("existing", "vpc")),
        ({"security_group": "sg"}, Code.EXISTING_ID, ("existing", "security_group")),
        ({"internet_gateway": "nat-1"}, Code.EXISTING_ID, ("existing", "internet_gateway")),
        ({"subnets": {"usw2-az4": "subnet-1"}}, Code.EXISTING_ID, ("existing", "subnets", "usw2-az4")),
        ({"subnets": SUBNETS}, Code.ZONE_WITHOUT_SUBNET, ("existing", "subnets", "usw2-az1")),
        ({"database_subnets": DATABASE[:1]}, Code.DATABASE_SUBNETS, ("existing", "database_subnets")),
        ({"database_subnets": [DATABASE[0], "b"]}, Code.EXISTING_ID, ("existing", "database_subnets", 1)),
    ],
)
def test_wrong_parts_are_reported(changes: dict[str, Any], code: Code, path: tuple[str | int, ...]):
    spec = NetworkSpec(az="usw2-az4", existing=PARTS_OF_ONE.narrowed(ExistingParts, **changes))
    assert [(one.code, one.path) for one in check_network(spec)] == [(code, path)]
    assert check_network(NetworkSpec(az="usw2-az4", existing=PARTS_OF_ONE)) == []
