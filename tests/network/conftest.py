"""Networks to look at, one template each."""

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.spec.network import NetworkSpec

Make = Callable[..., Template]


@pytest.fixture
def make(stack: cdk.Stack) -> Make:
    """Makes a network in AZ usw2-az4, or as told, and returns its template."""

    def made(**changes: Any) -> Template:
        good: dict[str, Any] = {"availability_zone_ids": ["usw2-az4"]}
        told = {**good, **changes}
        around = {name: told.pop(name) for name in ("endpoint_features", "encryption_key") if name in told}
        FleetNetwork(stack, "Network", NetworkSpec(**told), **around)
        return Template.from_stack(stack)

    return made
