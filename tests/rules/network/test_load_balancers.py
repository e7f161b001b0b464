"""AZs and subnets of load balancers."""

from ipaddress import IPv4Network
from itertools import combinations

import pytest

from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network import check_existing_network, check_network
from llm_fleet.rules.network_layout import (
    database_slots,
    load_balancer_zone,
    most_load_balancer_zones,
    primary_slots,
    private_slot,
    public_slot,
    slice_cidr,
)
from llm_fleet.rules.network_load_balancers import check_load_balancer_room, check_load_balancer_zones
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec

CIDR = "10.0.0.0/16"


@pytest.mark.parametrize("zones", range(1, address_facts().most_zones + 1))
def test_no_two_subnets_share_an_address(zones: int) -> None:
    slots = [private_slot(zone) for zone in range(zones)] + [public_slot(zone) for zone in range(zones)]
    further = [load_balancer_zone(index) for index in range(most_load_balancer_zones(zones))]
    slots += [private_slot(private) for private, _ in further] + [public_slot(public) for _, public in further]
    if zones <= database_slots()[0]:
        slots += [private_slot(slot) for slot in database_slots()]
    blocks = [IPv4Network(slice_cidr(CIDR, primary_slots(), slot)) for slot in slots]
    assert not any(one.overlaps(other) for one, other in combinations(blocks, 2))


@pytest.mark.parametrize(
    ("further", "zones", "codes"),
    [
        ((), ["usw2-az4"], []),
        (("usw2-az1",), ["usw2-az4"], []),
        (("usw2-az4",), ["usw2-az4"], [Code.LOAD_BALANCER_ZONE]),
        (("usw2-az1", "usw2-az1"), ["usw2-az4"], [Code.ZONE_TWICE]),
        (("us-west-2a",), ["usw2-az4"], [Code.ZONE_ID]),
        (("use1-az1",), ["usw2-az4"], [Code.ZONE_REGION]),
        (("usw2-az9",), [f"usw2-az{n}" for n in range(1, 7)], [Code.LOAD_BALANCER_ZONE]),
    ],
)
def test_azs_for_load_balancers(further: tuple[str, ...], zones: list[str], codes: list[Code]) -> None:
    told = check_load_balancer_zones(further, availability_zone_ids=zones, region="us-west-2")
    assert [problem.code for problem in told] == codes
    assert all(problem.path[0] == "load_balancer_zone_ids" for problem in told)
    whole = check_network(
        NetworkSpec(availability_zone_ids=zones, load_balancer_zone_ids=further, cidr=CIDR), region="us-west-2"
    )
    assert [problem.code for problem in whole] == codes


@pytest.mark.parametrize(
    ("cidr", "others", "fits"),
    [(CIDR, 20, True), ("10.0.0.0/23", 4, True), ("10.0.0.0/24", 0, False), ("10.0.0.0/23", 20, False)],
)
def test_subnets_have_room_to_grow(cidr: str, others: int, fits: bool) -> None:
    assert [problem.code for problem in check_load_balancer_room(cidr, others=others)] == (
        [] if fits else [Code.FRONT_SUBNET_SIZE]
    )


def test_what_is_told_of_an_existing_network_is_looked_at() -> None:
    told = check_existing_network(
        ExistingNetworkSpec(
            vpc_id="vpc-0123456789abcdef0",
            subnets={"usw2-az4": "subnet-0123456789abcdef0"},
            private_subnets={"usw2-az4": "subnet-x"},
            public_subnets={"use1-az1": "subnet-0123456789abcdef1"},
            vpc_cidrs=["10.0.0.0", "10.0.0.0/16"],
        ),
        region="us-west-2",
    )
    assert {(problem.code, problem.where) for problem in told} == {
        (Code.EXISTING_ID, "private_subnets.usw2-az4"),
        (Code.ZONE_REGION, "public_subnets.use1-az1"),
        (Code.CIDR_INVALID, "vpc_cidrs"),
    }
