"""Networks, and a function that reads the stack's template."""

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network
from llm_fleet.spec.network import NetworkSpec
from tests.made_networks import existing_network

Resources = dict[str, dict[str, Any]]
Find = Callable[..., Resources]


@pytest.fixture
def network(stack: cdk.Stack) -> Network:
    return existing_network(stack)


@pytest.fixture
def fleet_network(stack: cdk.Stack) -> FleetNetwork:
    return FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))


@pytest.fixture
def find(stack: cdk.Stack) -> Find:
    """Return the resources of some types in the stack's template, by logical id."""

    def find(*types: str) -> Resources:
        resources = Template.from_stack(stack).to_json()["Resources"]
        return {name: found for name, found in resources.items() if found["Type"] in types}

    return find
