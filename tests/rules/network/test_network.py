"""The rules of a network, of its load balancers, and of how its blocks are split."""

from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

import pytest

from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network import (
    check_existing_network,
    check_load_balancer_room,
    check_load_balancer_zones,
    check_network,
)
from llm_fleet.rules.network_layout import (
    compute_subnet_cidrs,
    database_slots,
    load_balancer_zone,
    most_load_balancer_zones,
    primary_slots,
    private_slot,
    public_slot,
    slice_cidr,
)
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec
from tests.rules.network.findings import NUMBER_TOKEN, TOKEN, only


def check(**changes: Any) -> list[Problem]:
    """Check a good network with `changes`."""
    good: dict[str, Any] = {
        "availability_zone_ids": ["usw2-az4"],
        "region": "us-west-2",
    }
    told = {**good, **changes}
    around = {name: told.pop(name) for name in ("endpoint_features", "region") if name in told}
    return check_network(NetworkSpec(**told), **around)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"availability_zone_ids": ["usw2-az4", "usw2-az1", "usw2-az2"]},
        {"availability_zone_ids": ["usw2-lax1-az1"]},
        {"availability_zone_ids": ["use1-az6"], "region": None},
        {"availability_zone_ids": ["use1-az6"], "region": TOKEN},
        {"availability_zone_ids": [TOKEN]},
        {"cidr": TOKEN, "compute_cidr": TOKEN},
        {"cidr": "192.168.0.0/17", "compute_cidr": "192.168.128.0/17"},
        {"cidr": "172.18.0.0/16", "compute_cidr": "172.19.0.0/16"},
        {"cidr": "10.0.0.0/16", "compute_cidr": "100.64.0.0/16"},
        {"cidr": "10.5.0.0/16", "compute_cidr": "10.0.0.0/16"},
        {"cidr": "100.64.0.0/16", "compute_cidr": "100.65.0.0/16"},
        {"cidr": "10.0.0.0/24"},
        {"compute_cidr": "10.1.0.0/27"},
        {"internet": InternetAccess.NONE},
        {"internet": InternetAccess.SHARED_NAT},
        {"internet": TOKEN},
        {"endpoints": ["bedrock-runtime", "elasticfilesystem", TOKEN]},
        {"without_endpoints": {"usw2-az4": ["ssm", "ssmmessages", "ec2messages", "logs"], TOKEN: [TOKEN]}},
        {
            "internet": InternetAccess.NONE,
            "availability_zone_ids": ["usw2-az4", "usw2-az1"],
            "without_endpoints": {"usw2-az4": ["ec2messages"]},
        },
        {"flow_log_days": 365, "interface_quota": 10_000},
        {"flow_log_days": NUMBER_TOKEN, "interface_quota": NUMBER_TOKEN},
    ],
)
def test_good_networks_give_nothing(changes: dict[str, Any]):
    assert check(**changes) == []


@pytest.mark.parametrize("name", ["cidr", "compute_cidr"])
@pytest.mark.parametrize(
    ("text", "code", "remedy"),
    [
        ("10.0.0/16", Code.CIDR_INVALID, "10.0.0.0/16"),
        ("ten", Code.CIDR_INVALID, "10.0.0.0/16"),
        ("10.9.0.7/16", Code.CIDR_INVALID, "write '10.9.0.0/16'"),
        ("10.9.0.0", Code.CIDR_INVALID, "with its prefix length"),
        ("10.0.0.0/8", Code.CIDR_SIZE, "/16 to /28"),
        ("10.9.0.0/29", Code.CIDR_SIZE, "/16 to /28"),
        ("8.8.0.0/16", Code.CIDR_RANGE, "10.0.0.0/16"),
        ("172.17.128.0/17", Code.CIDR_RANGE, "another private block"),
        ("198.19.0.0/16", Code.CIDR_RANGE, "10.0.0.0/16"),
    ],
)
def test_a_cidr_block_that_aws_or_nodes_refuse(name: str, text: str, code: Code, remedy: str):
    problem = only(check(**{name: text}), code, name)
    assert remedy in problem.remedy


def test_blocks_that_overlap():
    problem = only(check(compute_cidr="10.0.128.0/17"), Code.CIDR_OVERLAP, "compute_cidr")
    assert "10.0.128.0/17 overlaps cidr 10.0.0.0/16" in problem.message


@pytest.mark.parametrize(
    ("cidr", "compute_cidr"),
    [
        ("10.0.0.0/16", "172.18.0.0/16"),
        ("10.0.0.0/16", "192.168.0.0/16"),
        ("10.0.0.0/17", "10.0.128.0/17"),
        ("10.1.0.0/16", "10.0.0.0/16"),
        ("172.18.0.0/16", "10.0.0.0/16"),
        ("172.18.0.0/16", "172.31.0.0/16"),
        ("192.168.0.0/17", "10.0.0.0/16"),
        ("192.168.0.0/17", "172.18.0.0/16"),
        ("100.64.0.0/16", "10.0.0.0/16"),
    ],
)
def test_blocks_that_aws_refuses_beside_each_other(cidr: str, compute_cidr: str):
    problem = only(check(cidr=cidr, compute_cidr=compute_cidr), Code.CIDR_ASSOCIATION, "compute_cidr")
    assert "choose compute_cidr from" in problem.remedy


def test_a_primary_block_too_small_for_the_endpoints_of_a_closed_network():
    assert check(cidr="10.0.0.0/24") == []
    problem = only(check(cidr="10.0.0.0/24", internet=InternetAccess.NONE), Code.CIDR_SPLIT, "cidr")
    assert problem.remedy == "choose a /23 or larger"
    assert check(cidr="10.0.0.0/23", internet=InternetAccess.NONE, endpoint_features=list(EndpointFeature)) == []


def test_a_compute_block_too_small_for_its_azs():
    zones = ["usw2-az1", "usw2-az2", "usw2-az3"]
    problem = only(check(availability_zone_ids=zones, compute_cidr="10.1.0.0/27"), Code.CIDR_SPLIT, "compute_cidr")
    assert problem.remedy == "choose a /25 or larger"


def test_no_az():
    problem = only(check(availability_zone_ids=[]), Code.ZONE_MISSING, "availability_zone_ids")
    assert "usw2-az1" in problem.remedy


@pytest.mark.parametrize(("zone", "says"), [("us-west-2d", "an AZ's name"), ("az4", "no AZ id"), ("", "no AZ id")])
def test_text_that_is_no_az_id(zone: str, says: str):
    problem = only(check(availability_zone_ids=[zone]), Code.ZONE_ID, "availability_zone_ids", 0)
    assert says in problem.message
    assert "describe-availability-zones" in problem.remedy
    assert "--region us-west-2" in problem.remedy


def test_an_az_of_another_region():
    problem = only(check(availability_zone_ids=["usw2-az4", "use1-az6"]), Code.ZONE_REGION, "availability_zone_ids", 1)
    assert problem.message == "use1-az6 is not in us-west-2"
    assert "deploy to us-east-1" in problem.remedy


def test_an_az_named_twice():
    only(check(availability_zone_ids=["usw2-az4", "usw2-az4"]), Code.ZONE_TWICE, "availability_zone_ids", 1)


def test_more_azs_than_there_is_room_for():
    zones = [f"usw2-az{number}" for number in range(1, 10)]
    assert check(availability_zone_ids=zones[:8]) == []
    only(check(availability_zone_ids=zones), Code.ZONE_LIMIT, "availability_zone_ids")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("secretmanager", "write 'secretsmanager'"),
        ("com.amazonaws.us-west-2.ecr.api", "write 'ecr.api'"),
        ("s3", "leave it out"),
        ("zzzz", "describe-vpc-endpoint-services"),
    ],
)
def test_an_endpoint_that_aws_does_not_offer(name: str, remedy: str):
    assert remedy in only(check(endpoints=["ssm", name]), Code.ENDPOINT_UNKNOWN, "endpoints", 1).remedy


def test_an_unknown_way_out():
    with pytest.raises(FleetError) as caught:
        check(internet="natt")
    assert only(caught.value.problems, Code.NOT_A_CHOICE, "internet").remedy


@pytest.mark.parametrize(("days", "nearest"), [(100, 90), (0, 1), (10_000, 3653)])
def test_days_for_which_no_log_is_kept(days: int, nearest: int):
    assert only(check(flow_log_days=days), Code.FLOW_LOG_DAYS, "flow_log_days").remedy == f"write {nearest}"


@pytest.mark.parametrize("quota", [0, -5])
def test_a_quota_that_nobody_has(quota: int):
    assert "5000" in only(check(interface_quota=quota), Code.INTERFACE_QUOTA_VALUE, "interface_quota").remedy


def test_all_mistakes_are_told_at_once():
    found = check(availability_zone_ids=["us-west-2d"], cidr="ten", compute_cidr="8.8.0.0/16")
    assert {problem.code for problem in found} == {
        Code.ZONE_ID,
        Code.CIDR_INVALID,
        Code.CIDR_RANGE,
    }


def existing(**changes: Any) -> list[Problem]:
    good: dict[str, Any] = {
        "vpc": "vpc-0123456789abcdef0",
        "subnets": {"usw2-az4": "subnet-0123456789abcdef0"},
        "security_group": "sg-01234567",
        "region": "us-west-2",
    }
    told = {**good, **changes}
    region = told.pop("region")
    return check_existing_network(ExistingNetworkSpec(**told), region=region)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"security_group": None},
        {"vpc": TOKEN, "subnets": {"usw2-az4": TOKEN}, "compute_cidrs": {"usw2-az4": TOKEN}},
    ],
)
def test_good_existing_networks_give_nothing(changes: dict[str, Any]):
    assert existing(**changes) == []


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"vpc": "my-vpc"}, ("vpc",)),
        ({"vpc": "subnet-0123456789abcdef0"}, ("vpc",)),
        ({"subnets": {"usw2-az4": "vpc-0123456789abcdef0"}}, ("subnets", "usw2-az4")),
        ({"security_group": "sg-0123"}, ("security_group",)),
    ],
)
def test_text_that_is_no_id(changes: dict[str, Any], path: tuple[str, ...]):
    only(existing(**changes), Code.EXISTING_ID, *path)


@pytest.mark.parametrize("text", ["", "hello", "10.0.0.0", "10.0.0.7/16", "10.0.0.0/33", "fd00::/64", "10.0.0.0/16/8"])
def test_text_that_is_no_block_of_a_compute_subnet(text: str):
    only(existing(compute_cidrs={"usw2-az4": text}), Code.CIDR_INVALID, "compute_cidrs", "usw2-az4")


def test_a_block_of_an_az_without_a_compute_subnet():
    only(existing(compute_cidrs={"usw2-az1": "10.0.0.0/16"}), Code.ZONE_WITHOUT_SUBNET, "compute_cidrs", "usw2-az1")


def test_an_existing_networks_azs_are_told_where_its_subnets_are_named():
    only(existing(subnets={}), Code.ZONE_MISSING, "subnets")
    only(existing(subnets={"use1-az6": "subnet-01234567"}), Code.ZONE_REGION, "subnets", "use1-az6")


def test_every_size_that_is_allowed_can_be_written():
    facts = address_facts()
    for prefix in range(facts.largest_block_prefix, facts.smallest_block_prefix):
        assert check(compute_cidr=f"10.1.0.0/{prefix}") == []
    only(check(compute_cidr=f"10.1.0.0/{facts.smallest_block_prefix}"), Code.CIDR_SPLIT, "compute_cidr")


def test_an_az_that_is_to_be_without_endpoints_is_one_of_the_network():
    wrong = {"usw2-az5": ["ssm"]}
    problem = only(check(without_endpoints=wrong), Code.ZONE_WITHOUT_SUBNET, "without_endpoints", "usw2-az5")
    assert problem.remedy == "write 'usw2-az4'"
    wrong = {"usw2-az4": ["smm"]}
    problem = only(check(without_endpoints=wrong), Code.ENDPOINT_UNKNOWN, "without_endpoints", "usw2-az4", 0)
    assert problem.remedy == "write 'ssm'"


def test_a_closed_network_keeps_every_endpoint_in_some_az():
    gaps = {"usw2-az4": ["ec2messages", "kms"], "usw2-az1": ["ec2messages"]}
    zones = ["usw2-az4", "usw2-az1"]
    found = check(internet=InternetAccess.NONE, availability_zone_ids=zones, without_endpoints=gaps)
    problem = only(found, Code.ENDPOINT_WITHOUT_ZONE, "without_endpoints")
    assert "no AZ is left for the endpoint ec2messages" in problem.message
    assert "add an AZ to `azs`" in problem.remedy


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
            vpc="vpc-0123456789abcdef0",
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


ZONES = [f"use1-az{number}" for number in range(1, address_facts().most_zones + 1)]
BLOCK = IPv4Network("10.1.0.0/16")


def cut(zones: int) -> dict[str, IPv4Network]:
    made = compute_subnet_cidrs(str(BLOCK), ZONES[:zones])
    return {zone: IPv4Network(str(cidr)) for zone, cidr in made.items()}


@pytest.mark.parametrize("zones", range(2, len(ZONES) + 1))
def test_an_az_that_is_appended_moves_none_and_overlaps_none(zones: int) -> None:
    before, after = cut(zones - 1), cut(zones)
    assert {zone: after[zone] for zone in before} == before
    new = after[ZONES[zones - 1]]
    assert new.subnet_of(BLOCK)
    assert not any(new.overlaps(old) for old in before.values())
    assert new.prefixlen <= address_facts().smallest_block_prefix


def test_the_first_has_half_of_the_block() -> None:
    assert [str(subnet) for subnet in cut(3).values()] == ["10.1.0.0/17", "10.1.128.0/18", "10.1.192.0/19"]


def test_a_block_that_is_a_token_is_not_known() -> None:
    assert compute_subnet_cidrs("${Token[TOKEN.1]}", ZONES[:2]) == {"use1-az1": None, "use1-az2": None}
