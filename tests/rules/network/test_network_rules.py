"""CIDR blocks, AZs, endpoints and ids: each mistake with its code and its remedy."""

from typing import Any

import pytest

from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network import check_existing_network, check_network
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
        "vpc_id": "vpc-0123456789abcdef0",
        "subnets": {"usw2-az4": "subnet-0123456789abcdef0"},
        "security_group_id": "sg-01234567",
        "region": "us-west-2",
    }
    told = {**good, **changes}
    region = told.pop("region")
    return check_existing_network(ExistingNetworkSpec(**told), region=region)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"security_group_id": None},
        {"vpc_id": TOKEN, "subnets": {"usw2-az4": TOKEN}, "compute_cidrs": {"usw2-az4": TOKEN}},
    ],
)
def test_good_existing_networks_give_nothing(changes: dict[str, Any]):
    assert existing(**changes) == []


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"vpc_id": "my-vpc"}, ("vpc_id",)),
        ({"vpc_id": "subnet-0123456789abcdef0"}, ("vpc_id",)),
        ({"subnets": {"usw2-az4": "vpc-0123456789abcdef0"}}, ("subnets", "usw2-az4")),
        ({"security_group_id": "sg-0123"}, ("security_group_id",)),
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
