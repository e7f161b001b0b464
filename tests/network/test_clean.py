"""Every kind of network passes every checker that a careful user would run."""

from collections.abc import Callable

import aws_cdk as cdk
import pytest

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec
from llm_fleet.storage.fleet_key import FleetKey
from tests.clean import all_findings
from tests.conftest import ENVIRONMENT
from tests.network.looking import TWO_ZONES

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
    "Existing": lambda stack: FleetNetwork.from_ids(
        stack,
        "Network",
        ExistingNetworkSpec(vpc_id="vpc-0123456789abcdef0", subnets={"usw2-az4": "subnet-0123456789abcdef0"}),
    ),
}


@pytest.fixture
def networks(app: cdk.App) -> list[str]:
    """Names of stacks with a network of each kind, in one app: checkers take their time to start."""
    for name, make in KINDS.items():
        make(cdk.Stack(app, name, env=ENVIRONMENT))
    return list(KINDS)


def test_no_checker_finds_anything(app: cdk.App, networks: list[str]):
    assert all_findings(app) == []
