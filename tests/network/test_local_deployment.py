"""Networks deployed to the AWS emulator, read with the EC2 API, and deleted."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec
from llm_fleet.storage.buckets import FleetKey
from llm_fleet_local.aws.client import LocalAws
from tests.clean import all_findings
from tests.conftest import ENVIRONMENT
from tests.network.conftest import TWO_ZONES
from tools.synth_environment import cdk_context


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An open network that is retained as for a file system, and a closed network."""
    out = tmp_path_factory.mktemp("networks") / "cdk.out"
    app = cdk.App(context=cdk_context(), outdir=str(out))
    env = cdk.Environment(account="123456789012", region="us-west-2")
    FleetNetwork(cdk.Stack(app, "Open", env=env), "Network", NetworkSpec(availability_zone_ids=TWO_ZONES)).keep()
    FleetNetwork(
        cdk.Stack(app, "Closed", env=env),
        "Network",
        NetworkSpec(
            availability_zone_ids=TWO_ZONES,
            cidr="10.8.0.0/16",
            compute_cidr="10.9.0.0/16",
            internet=InternetAccess.NONE,
        ),
    )
    app.synth()
    return out


@pytest.fixture(scope="module")
def aws(assembly: Path) -> Generator[LocalAws]:
    with LocalAws(account="123456789012", region="us-west-2") as local:
        local.bootstrap()
        local.deploy(assembly)
        yield local


def vpc_of(ec2: Any, cidr: str) -> str:
    return next(vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"] if vpc["CidrBlock"] == cidr)


def of_vpc(vpc_id: str) -> list[dict[str, Any]]:
    return [{"Name": "vpc-id", "Values": [vpc_id]}]


def compute_subnets(ec2: Any, vpc_id: str) -> list[dict[str, Any]]:
    subnets = ec2.describe_subnets(Filters=of_vpc(vpc_id))["Subnets"]
    return [subnet for subnet in subnets if subnet["Tags"][0]["Value"].endswith("/compute")]


def test_nodes_reach_the_internet_through_the_nat_gateway_of_their_own_az(aws: LocalAws):
    ec2 = aws.client("ec2")
    vpc_id = vpc_of(ec2, "10.0.0.0/16")
    zone_of = {s["SubnetId"]: s["AvailabilityZoneId"] for s in ec2.describe_subnets(Filters=of_vpc(vpc_id))["Subnets"]}
    nat_zone = {nat["NatGatewayId"]: zone_of[nat["SubnetId"]] for nat in ec2.describe_nat_gateways()["NatGateways"]}
    for subnet in compute_subnets(ec2, vpc_id):
        (table,) = ec2.describe_route_tables(
            Filters=[{"Name": "association.subnet-id", "Values": [subnet["SubnetId"]]}]
        )["RouteTables"]
        (way_out,) = (route for route in table["Routes"] if route.get("DestinationCidrBlock") == "0.0.0.0/0")
        assert nat_zone[way_out["NatGatewayId"]] == subnet["AvailabilityZoneId"]
    assert sorted(nat_zone.values()) == sorted(TWO_ZONES)


def test_members_of_the_group_allow_all_traffic_both_ways(aws: LocalAws):
    ec2 = aws.client("ec2")
    for cidr in ("10.0.0.0/16", "10.8.0.0/16"):
        groups = ec2.describe_security_groups(Filters=of_vpc(vpc_of(ec2, cidr)))["SecurityGroups"]
        (group,) = (group for group in groups if group["Description"].startswith("Nodes and file systems"))
        for direction in ("IpPermissions", "IpPermissionsEgress"):
            peers = [
                pair["GroupId"]
                for rule in group[direction]
                if rule["IpProtocol"] == "-1"
                for pair in rule["UserIdGroupPairs"]
            ]
            assert peers == [group["GroupId"]]


def test_the_closed_network_has_endpoints_and_no_internet_access(aws: LocalAws):
    ec2 = aws.client("ec2")
    vpc_id = vpc_of(ec2, "10.8.0.0/16")
    tables = ec2.describe_route_tables(Filters=of_vpc(vpc_id))["RouteTables"]
    assert not any(route.get("DestinationCidrBlock") == "0.0.0.0/0" for table in tables for route in table["Routes"])
    endpoints = ec2.describe_vpc_endpoints(Filters=of_vpc(vpc_id))["VpcEndpoints"]
    names = {endpoint["ServiceName"].removeprefix("com.amazonaws.us-west-2.") for endpoint in endpoints}
    assert {"s3", "ssm", "ssmmessages", "logs", "sts", "ecr.dkr", "sagemaker.api"} <= names
    attached = [gateway for gateway in ec2.describe_internet_gateways()["InternetGateways"] if gateway["Attachments"]]
    assert not any(gateway["Attachments"][0]["VpcId"] == vpc_id for gateway in attached)


def test_only_retained_resources_remain_after_deletion(aws: LocalAws, assembly: Path):
    """Runs last: it deletes the networks."""
    ec2 = aws.client("ec2")
    vpc_id = vpc_of(ec2, "10.0.0.0/16")
    aws.destroy(assembly)
    cidrs = {vpc["CidrBlock"] for vpc in ec2.describe_vpcs()["Vpcs"]}
    assert "10.0.0.0/16" in cidrs
    assert "10.8.0.0/16" not in cidrs
    left = ec2.describe_subnets(Filters=of_vpc(vpc_id))["Subnets"]
    assert {subnet["CidrBlock"] for subnet in left} == {"10.1.0.0/17", "10.1.128.0/18"}
    groups = ec2.describe_security_groups(Filters=of_vpc(vpc_id))["SecurityGroups"]
    assert sorted(group["GroupName"] == "default" for group in groups) == [False, True]
    gateways = ec2.describe_nat_gateways(Filters=of_vpc(vpc_id))["NatGateways"]
    assert {gateway["State"] for gateway in gateways} == {"deleted"}
    log_groups = aws.client("logs").describe_log_groups()["logGroups"]
    assert len(log_groups) == 2


KINDS: dict[str, Callable[[cdk.Stack], object]] = {
    "OneAz": lambda stack: FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"])),
    "TwoAzsOwnKey": lambda stack: FleetNetwork(
        stack,
        "Network",
        NetworkSpec(availability_zone_ids=TWO_ZONES),
        encryption_key=FleetKey(stack, "Key", alias="alias/fleet"),
    ),
    "SharedNat": lambda stack: FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=TWO_ZONES, internet=InternetAccess.SHARED_NAT)
    ),
    "Closed": lambda stack: FleetNetwork(
        stack,
        "Network",
        NetworkSpec(availability_zone_ids=TWO_ZONES, internet=InternetAccess.NONE),
        endpoint_features=list(EndpointFeature),
    ),
    "Existing": lambda stack: FleetNetwork.from_attributes(
        stack,
        "Network",
        ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets={"usw2-az4": "subnet-0123456789abcdef0"}),
    ),
}


@pytest.fixture
def networks(app: cdk.App) -> list[str]:
    """Names of stacks with a network of each kind, in one app, because checkers start slowly."""
    for name, make in KINDS.items():
        make(cdk.Stack(app, name, env=ENVIRONMENT))
    return list(KINDS)


def test_no_checker_finds_anything(app: cdk.App, networks: list[str]):
    assert all_findings(app) == []
