"""A network, and functions that read templates."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet.network.network import Network
from tests.made_networks import existing_network


@pytest.fixture
def network(stack: cdk.Stack) -> Network:
    return existing_network(stack)


def all_of(stack: cdk.Stack, *types: str) -> dict[str, dict[str, Any]]:
    """Return the resources of these types in the template of `stack`, by logical id."""
    resources = Template.from_stack(stack).to_json().get("Resources", {})
    return {name: resource for name, resource in resources.items() if resource["Type"] in types}


def only(stack: cdk.Stack, type: str) -> dict[str, Any]:
    """Return the properties of the only resource of this type."""
    (resource,) = all_of(stack, type).values()
    return resource["Properties"]
