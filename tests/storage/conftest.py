"""A network to stand in, and what reads templates."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template
from constructs import Construct

from llm_fleet.network.network import ExistingNetwork, Network
from llm_fleet.spec.network import ExistingNetworkSpec

SUBNETS = {"usw2-az4": "subnet-0123456789abcdef4", "usw2-az1": "subnet-0123456789abcdef1"}


def existing_network(scope: Construct) -> Network:
    """Return a network with a security group that is made here: far fewer constructs than one that is made whole."""
    return ExistingNetwork(scope, "Network", ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets=SUBNETS))


@pytest.fixture
def network(stack: cdk.Stack) -> Network:
    return existing_network(stack)


def all_of(stack: cdk.Stack, *types: str) -> dict[str, dict[str, Any]]:
    """Return the resources of these types in the template of `stack`, by logical id."""
    resources = Template.from_stack(stack).to_json().get("Resources", {})
    return {name: resource for name, resource in resources.items() if resource["Type"] in types}


def only(stack: cdk.Stack, type: str) -> dict[str, Any]:
    """Return the properties of the one resource of this type."""
    (resource,) = all_of(stack, type).values()
    return resource["Properties"]
