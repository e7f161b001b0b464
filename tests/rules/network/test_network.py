"""Rules of networks, of their load balancers, and the split of their CIDR blocks."""

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
from tests.rules.findings import NUMBER_TOKEN, TOKEN, check_one


def check(**changes: Any) -> list[Problem]:
    """Check a valid network with `changes`."""
    good: dict[str, Any] = {
        "availability_zone_ids": ["usw2-az4"],
        "region": "us-west-2",
    }
    values = {**good, **changes}
    around = {name: values.pop(name) for name in ("endpoint_features", "region") if name in values}
    return check_network(NetworkSpec(**values), **around)


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
        {"cidr": "10.0.0.0/23", "internet": InternetAccess.NONE, "endpoint_features": list(EndpointFeature)},
        {"availability_zone_ids": [f"usw2-az{number}" for number in range(1, 9)]},
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
def test_valid_networks_have_no_problems(changes: dict[str, Any]):
    assert check(**changes) == []


ZONES_OF_REGION = [f"usw2-az{number}" for number in range(1, 10)]
CLOSED = {"internet": InternetAccess.NONE}
GAPS = {"usw2-az4": ["ec2messages", "kms"], "usw2-az1": ["ec2messages"]}


@pytest.mark.parametrize(
    ("changes", "code", "where", "said"),
    [
        *(
            ({name: text}, code, name, [remedy])
            for name in ("cidr", "compute_cidr")
            for text, code, remedy in (
                ("10.0.0/16", Code.CIDR_INVALID, "10.0.0.0/16"),
                ("ten", Code.CIDR_INVALID, "10.0.0.0/16"),
                ("10.9.0.7/16", Code.CIDR_INVALID, "write `10.9.0.0/16`"),
                ("10.9.0.0", Code.CIDR_INVALID, "with its prefix length"),
                ("10.0.0.0/8", Code.CIDR_SIZE, "a block of /16 to /28"),
                ("10.9.0.0/29", Code.CIDR_SIZE, "a block of /16 to /28"),
                ("8.8.0.0/16", Code.CIDR_RANGE, "one of the allowed ranges, e.g. 10.0.0.0/16"),
                ("172.17.128.0/17", Code.CIDR_RANGE, "another private block"),
                ("198.19.0.0/16", Code.CIDR_RANGE, "one of the allowed ranges, e.g. 10.0.0.0/16"),
            )
        ),
        (
            {"compute_cidr": "10.0.128.0/17"},
            Code.CIDR_OVERLAP,
            "compute_cidr",
            ["10.0.128.0/17 overlaps cidr 10.0.0.0/16"],
        ),
        *(
            (
                {"cidr": cidr, "compute_cidr": compute_cidr},
                Code.CIDR_ASSOCIATION,
                "compute_cidr",
                ["write a compute_cidr from"],
            )
            for cidr, compute_cidr in (
                ("10.0.0.0/16", "172.18.0.0/16"),
                ("10.0.0.0/16", "192.168.0.0/16"),
                ("10.0.0.0/17", "10.0.128.0/17"),
                ("10.1.0.0/16", "10.0.0.0/16"),
                ("172.18.0.0/16", "10.0.0.0/16"),
                ("172.18.0.0/16", "172.31.0.0/16"),
                ("192.168.0.0/17", "10.0.0.0/16"),
                ("192.168.0.0/17", "172.18.0.0/16"),
                ("100.64.0.0/16", "10.0.0.0/16"),
            )
        ),
        ({**CLOSED, "cidr": "10.0.0.0/24"}, Code.CIDR_SPLIT, "cidr", ["write a block of /23 or larger"]),
        (
            {"availability_zone_ids": ZONES_OF_REGION[:3], "compute_cidr": "10.1.0.0/27"},
            Code.CIDR_SPLIT,
            "compute_cidr",
            ["write a block of /25 or larger"],
        ),
        ({"availability_zone_ids": []}, Code.ZONE_MISSING, "availability_zone_ids", ["e.g. usw2-az1"]),
        *(
            (
                {"availability_zone_ids": [zone]},
                Code.ZONE_ID,
                "availability_zone_ids[0]",
                [says, "describe-availability-zones", "--region us-west-2"],
            )
            for zone, says in {"us-west-2d": "is the name of an AZ", "az4": "not an AZ id", "": "not an AZ id"}.items()
        ),
        (
            {"availability_zone_ids": ["usw2-az4", "use1-az6"]},
            Code.ZONE_REGION,
            "availability_zone_ids[1]",
            ["use1-az6 is not in us-west-2", "deploy to us-east-1"],
        ),
        ({"availability_zone_ids": ["usw2-az4"] * 2}, Code.ZONE_TWICE, "availability_zone_ids[1]", ["listed twice"]),
        (
            {"availability_zone_ids": ZONES_OF_REGION},
            Code.ZONE_LIMIT,
            "availability_zone_ids",
            ["at most 8 AZs, and this one has 9"],
        ),
        *(
            ({"endpoints": ["ssm", name]}, Code.ENDPOINT_UNKNOWN, "endpoints[1]", [remedy])
            for name, remedy in {
                "secretmanager": "write `secretsmanager`",
                "com.amazonaws.us-west-2.ecr.api": "write `ecr.api`",
                "s3": "remove it",
                "zzzz": "describe-vpc-endpoint-services",
            }.items()
        ),
        *(
            ({"flow_log_days": days}, Code.FLOW_LOG_DAYS, "flow_log_days", [f"write {near}"])
            for days, near in {100: 90, 0: 1, 10_000: 3653}.items()
        ),
        *(({"interface_quota": quota}, Code.INTERFACE_QUOTA_VALUE, "interface_quota", ["5000"]) for quota in (0, -5)),
        (
            {"without_endpoints": {"usw2-az5": ["ssm"]}},
            Code.ZONE_WITHOUT_SUBNET,
            "without_endpoints.usw2-az5",
            ["write `usw2-az4`"],
        ),
        (
            {"without_endpoints": {"usw2-az4": ["smm"]}},
            Code.ENDPOINT_UNKNOWN,
            "without_endpoints.usw2-az4[0]",
            ["write `ssm`"],
        ),
        (
            {**CLOSED, "availability_zone_ids": ["usw2-az4", "usw2-az1"], "without_endpoints": GAPS},
            Code.ENDPOINT_WITHOUT_ZONE,
            "without_endpoints",
            ["no AZ has the endpoint ec2messages", "add an AZ to `azs`"],
        ),
    ],
)
def test_one_mistake_is_reported_once(changes: dict[str, Any], code: Code, where: str, said: list[str]):
    check_one(check(**changes), code, where, *said)


def test_an_unknown_internet_access_is_reported():
    with pytest.raises(FleetError) as caught:
        check(internet="natt")
    check_one(caught.value.problems, Code.NOT_A_CHOICE, "internet")


def test_all_mistakes_are_reported_together():
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
    values = {**good, **changes}
    region = values.pop("region")
    return check_existing_network(ExistingNetworkSpec(**values), region=region)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"security_group": None},
        {"vpc": TOKEN, "subnets": {"usw2-az4": TOKEN}, "compute_cidrs": {"usw2-az4": TOKEN}},
    ],
)
def test_valid_existing_networks_have_no_problems(changes: dict[str, Any]):
    assert existing(**changes) == []


@pytest.mark.parametrize(
    ("changes", "code", "where"),
    [
        ({"vpc": "my-vpc"}, Code.EXISTING_ID, "vpc"),
        ({"vpc": "subnet-0123456789abcdef0"}, Code.EXISTING_ID, "vpc"),
        ({"subnets": {"usw2-az4": "vpc-0123456789abcdef0"}}, Code.EXISTING_ID, "subnets.usw2-az4"),
        ({"security_group": "sg-0123"}, Code.EXISTING_ID, "security_group"),
        *(
            ({"compute_cidrs": {"usw2-az4": text}}, Code.CIDR_INVALID, "compute_cidrs.usw2-az4")
            for text in ("", "hello", "10.0.0.0", "10.0.0.7/16", "10.0.0.0/33", "fd00::/64", "10.0.0.0/16/8")
        ),
        ({"compute_cidrs": {"usw2-az1": "10.0.0.0/16"}}, Code.ZONE_WITHOUT_SUBNET, "compute_cidrs.usw2-az1"),
        # Problems of AZs are reported at the subnets.
        ({"subnets": {}}, Code.ZONE_MISSING, "subnets"),
        ({"subnets": {"use1-az6": "subnet-01234567"}}, Code.ZONE_REGION, "subnets.use1-az6"),
    ],
)
def test_one_mistake_in_an_existing_network_is_reported_once(changes: dict[str, Any], code: Code, where: str):
    check_one(existing(**changes), code, where)


def test_every_allowed_size_can_be_used():
    facts = address_facts()
    for prefix in range(facts.largest_block_prefix, facts.smallest_block_prefix):
        assert check(compute_cidr=f"10.1.0.0/{prefix}") == []
    check_one(check(compute_cidr=f"10.1.0.0/{facts.smallest_block_prefix}"), Code.CIDR_SPLIT, "compute_cidr")


CIDR = "10.0.0.0/16"


@pytest.mark.parametrize("zones", range(1, address_facts().most_zones + 1))
def test_no_two_subnets_share_an_address(zones: int) -> None:
    slots = [private_slot(zone) for zone in range(zones)] + [public_slot(zone) for zone in range(zones)]
    additional = [load_balancer_zone(index) for index in range(most_load_balancer_zones(zones))]
    slots += [private_slot(private) for private, _ in additional] + [public_slot(public) for _, public in additional]
    if zones <= database_slots()[0]:
        slots += [private_slot(slot) for slot in database_slots()]
    blocks = [IPv4Network(slice_cidr(CIDR, primary_slots(), slot)) for slot in slots]
    assert not any(one.overlaps(other) for one, other in combinations(blocks, 2))


@pytest.mark.parametrize(
    ("additional", "zones", "codes"),
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
def test_invalid_azs_for_load_balancers_are_reported(
    additional: tuple[str, ...], zones: list[str], codes: list[Code]
) -> None:
    reported = check_load_balancer_zones(additional, availability_zone_ids=zones, region="us-west-2")
    assert [problem.code for problem in reported] == codes
    assert all(problem.path[0] == "load_balancer_zone_ids" for problem in reported)
    whole = check_network(
        NetworkSpec(availability_zone_ids=zones, load_balancer_zone_ids=additional, cidr=CIDR), region="us-west-2"
    )
    assert [problem.code for problem in whole] == codes


@pytest.mark.parametrize(
    ("cidr", "others", "fits"),
    [(CIDR, 20, True), ("10.0.0.0/23", 4, True), ("10.0.0.0/24", 0, False), ("10.0.0.0/23", 20, False)],
)
def test_subnets_for_load_balancers_have_space_to_grow(cidr: str, others: int, fits: bool) -> None:
    assert [problem.code for problem in check_load_balancer_room(cidr, others=others)] == (
        [] if fits else [Code.FRONT_SUBNET_SIZE]
    )


def test_subnets_of_an_existing_network_are_checked() -> None:
    reported = check_existing_network(
        ExistingNetworkSpec(
            vpc="vpc-0123456789abcdef0",
            subnets={"usw2-az4": "subnet-0123456789abcdef0"},
            private_subnets={"usw2-az4": "subnet-x"},
            public_subnets={"use1-az1": "subnet-0123456789abcdef1"},
            vpc_cidrs=["10.0.0.0", "10.0.0.0/16"],
        ),
        region="us-west-2",
    )
    assert {(problem.code, problem.where) for problem in reported} == {
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
def test_an_appended_az_moves_no_subnet_and_overlaps_none(zones: int) -> None:
    before, after = cut(zones - 1), cut(zones)
    assert {zone: after[zone] for zone in before} == before
    new = after[ZONES[zones - 1]]
    assert new.subnet_of(BLOCK)
    assert not any(new.overlaps(old) for old in before.values())
    assert new.prefixlen <= address_facts().smallest_block_prefix


def test_the_first_az_has_half_of_the_block() -> None:
    assert [str(subnet) for subnet in cut(3).values()] == ["10.1.0.0/17", "10.1.128.0/18", "10.1.192.0/19"]


def test_a_block_that_is_a_token_is_unknown() -> None:
    assert compute_subnet_cidrs("${Token[TOKEN.1]}", ZONES[:2]) == {"use1-az1": None, "use1-az2": None}
