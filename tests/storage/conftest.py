"""A network to stand in."""

import aws_cdk as cdk
import pytest

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.spec.network import NetworkSpec


@pytest.fixture
def network(stack: cdk.Stack) -> FleetNetwork:
    return FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"]))
