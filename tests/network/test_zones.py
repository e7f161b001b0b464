"""Subnets for load balancers, and addresses reserved by clusters and file systems, which must fit at synth."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec
from tests.conftest import ENVIRONMENT
from tests.network.conftest import TWO_ZONES

ONE_ZONE = ["usw2-az4"]
SUBNET = "AWS::EC2::Subnet"


def resources(**changes: Any) -> dict[str, Any]:
    stack = cdk.Stack(cdk.App(), "Test", env=ENVIRONMENT)
    good: dict[str, Any] = {"availability_zone_ids": ONE_ZONE}
    FleetNetwork(stack, "Network", NetworkSpec(**{**good, **changes}))
    return Template.from_stack(stack).to_json()["Resources"]


@pytest.fixture(scope="module")
def additional() -> dict[str, Any]:
    return resources(load_balancer_zone_ids=["usw2-az1"])


def test_an_az_for_load_balancers_changes_no_other_resource(additional: dict[str, Any]) -> None:
    before = resources()
    assert {name: additional[name] for name in before} == before
    assert {name[:-8] for name in set(additional) - set(before)} == {
        f"NetworkLoadBalancersusw2az1{part}"
        for part in (
            "RouteTable",
            "DefaultRoute",
            "PrivateSubnet",
            "PublicSubnet",
            "PrivateRouteTableAssociation",
            "PublicRouteTableAssociation",
        )
    }


def test_an_additional_az_with_nodes_does_not_change_it(additional: dict[str, Any]) -> None:
    after = resources(availability_zone_ids=[*ONE_ZONE, "usw2-az2"], load_balancer_zone_ids=["usw2-az1"])
    own = {name: found for name, found in additional.items() if "LoadBalancers" in name}
    assert own
    assert {name: after[name] for name in own} == own


def test_its_subnets_are_in_their_az(additional: dict[str, Any]) -> None:
    subnets = {name: one["Properties"] for name, one in additional.items() if one["Type"] == SUBNET}
    own = {name: one for name, one in subnets.items() if "LoadBalancers" in name}
    assert {one["AvailabilityZoneId"] for one in own.values()} == {"usw2-az1"}
    assert not any(one["MapPublicIpOnLaunch"] for one in own.values())
    assert {one["CidrBlock"] for one in own.values()} == {"10.0.80.0/20", "10.0.240.0/20"}


@pytest.mark.parametrize("public", [False, True])
def test_each_az_has_one_load_balancer_subnet(stack: cdk.Stack, public: bool) -> None:
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=TWO_ZONES, load_balancer_zone_ids=["usw2-az2"])
    )
    given = network.load_balancer_subnets(public=public)
    assert list(given) == [*TWO_ZONES, "usw2-az2"]
    kind = "Public" if public else "Private"
    names = [stack.resolve(subnet.subnet_id)["Ref"] for subnet in given.values()]
    assert [f"{zone.replace('-', '')}{kind}Subnet" in name for zone, name in zip(given, names, strict=True)] == [
        True
    ] * 3


def test_a_closed_network_has_only_private_load_balancer_subnets(stack: cdk.Stack) -> None:
    network = FleetNetwork(
        stack,
        "Network",
        NetworkSpec(availability_zone_ids=ONE_ZONE, load_balancer_zone_ids=["usw2-az1"], internet=InternetAccess.NONE),
    )
    assert list(network.load_balancer_subnets(public=False)) == ["usw2-az4", "usw2-az1"]
    assert network.load_balancer_subnets(public=True) == {}
    assert network.cidrs == ("10.0.0.0/16", "10.1.0.0/16")


def test_a_small_network_has_no_space_for_load_balancers(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ONE_ZONE, cidr="10.0.0.0/24"))
    with pytest.raises(FleetError) as raised:
        network.load_balancer_subnets(public=False)
    assert [problem.code for problem in raised.value.problems] == [Code.FRONT_SUBNET_SIZE]


def test_an_existing_network_has_the_given_subnets(stack: cdk.Stack) -> None:
    settings: dict[str, Any] = {
        "vpc": "vpc-0123456789abcdef0",
        "subnets": {"usw2-az4": "subnet-0123456789abcdef0"},
    }
    bare = FleetNetwork.from_attributes(stack, "Bare", ExistingNetworkSpec(**settings))
    assert [subnet.subnet_id for subnet in bare.load_balancer_subnets(public=False).values()] == [
        "subnet-0123456789abcdef0"
    ]
    assert bare.load_balancer_subnets(public=True) == {}
    assert bare.cidrs == ()
    whole = FleetNetwork.from_attributes(
        stack,
        "Whole",
        ExistingNetworkSpec(
            **settings,
            private_subnets={"usw2-az4": "subnet-0123456789abcdef1", "usw2-az1": "subnet-0123456789abcdef2"},
            public_subnets={"usw2-az4": "subnet-0123456789abcdef3", "usw2-az1": "subnet-0123456789abcdef4"},
            vpc_cidrs=["10.20.0.0/16"],
        ),
    )
    private, public = whole.load_balancer_subnets(public=False), whole.load_balancer_subnets(public=True)
    assert [subnet.subnet_id[-1] for subnet in (*private.values(), *public.values())] == ["1", "2", "3", "4"]
    assert list(private) == list(public) == ["usw2-az4", "usw2-az1"]
    assert whole.cidrs == ("10.20.0.0/16",)


def test_the_block_of_a_vpc_construct_is_known(stack: cdk.Stack) -> None:
    made = FleetNetwork(stack, "Made", NetworkSpec(availability_zone_ids=ONE_ZONE))
    taken = FleetNetwork.from_attributes(
        stack, "Taken", ExistingNetworkSpec(vpc=made.vpc, subnets=made.compute_subnets)
    )
    assert taken.cidrs == ("10.0.0.0/16",)


def p5_nodes(count: int, owner: str = "train/workers", zone: str | None = None) -> AddressClaim:
    return AddressClaim.for_instances(
        owner=owner, instance_types="ml.p5.48xlarge", count=count, availability_zone_id=zone
    )


def test_claims_that_fit_are_in_the_address_plan(app: cdk.App, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    assert network.reserve_addresses([p5_nodes(4), AddressClaim.for_file_system(owner="fsx")]) == []
    (zone,) = network.address_plan.zones
    assert (zone.addresses, zone.headroom, zone.prefix_needed, zone.prefix_given) == (130, 32, 24, 17)
    app.synth()


def test_40_p5_nodes_in_a_24_are_reported_by_path_code_and_remedy(stack: cdk.Stack):
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], compute_cidr="10.1.0.0/23")
    )
    (problem,) = network.reserve_addresses([p5_nodes(40)])
    assert problem.code == Code.SUBNET_TOO_SMALL
    assert problem.where == "network.compute_cidr"
    assert "a /20 or larger" in problem.remedy


def test_clusters_that_fit_alone_and_not_together_are_reported(stack: cdk.Stack):
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], compute_cidr="10.1.0.0/23")
    )
    assert network.reserve_addresses([p5_nodes(4, "one/workers")]) == []
    (problem,) = network.reserve_addresses([p5_nodes(4, "two/workers")])
    assert "one/workers" in problem.message
    assert "two/workers" in problem.message


def test_synth_fails_when_a_caller_does_not_raise(app: cdk.App, stack: cdk.Stack):
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], compute_cidr="10.1.0.0/23")
    )
    network.reserve_addresses([p5_nodes(40)])
    with pytest.raises(RuntimeError, match=r"(?s)Test/Network.*LF220.*10\.1\.0\.0/24.*a /21"):
        app.synth()


def test_endpoints_and_nat_count_towards_the_quota(stack: cdk.Stack):
    """4 endpoints and a NAT gateway: 5 interfaces next to those of the nodes."""
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"], interface_quota=100)
    )
    assert [zone.interfaces for zone in network.address_plan.zones] == [5, 5]
    assert network.reserve_addresses([p5_nodes(1, zone="usw2-az1")]) == []
    (problem,) = network.reserve_addresses([p5_nodes(1, zone="usw2-az1")])
    assert problem.code == Code.INTERFACE_QUOTA
    assert "usw2-az1 needs 101" in problem.message
    assert "--region us-west-2" in problem.remedy


def test_a_shared_nat_gateway_counts_once(stack: cdk.Stack):
    network = FleetNetwork(
        stack,
        "Network",
        NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"], internet=InternetAccess.SHARED_NAT),
    )
    assert [zone.other_interfaces for zone in network.address_plan.zones] == [5, 4]


def test_a_block_that_is_a_token_is_not_checked(app: cdk.App, stack: cdk.Stack):
    block = cdk.CfnParameter(stack, "Block").value_as_string
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], compute_cidr=block))
    assert network.reserve_addresses([p5_nodes(100)]) == []
    app.synth()
