"""Networks with one template each, and functions that read templates."""

from collections.abc import Callable, Mapping
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.spec.network import NetworkSpec
from tests.conftest import ENVIRONMENT
from tools.synth_environment import cdk_context

Make = Callable[..., Template]


_MADE: dict[str, Template] = {}


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Returns the template of a network in AZ usw2-az4, or as configured: `endpoint_features`, and fields of the spec.

    A network that several tests use is synthesized once.
    """

    def made(**changes: Any) -> Template:
        if repr(changes) not in _MADE:
            _MADE[repr(changes)] = new(changes)
        return _MADE[repr(changes)]

    def new(changes: dict[str, Any]) -> Template:
        app = cdk.App(context=cdk_context(), outdir=str(tmp_path_factory.mktemp("network")))
        stack = cdk.Stack(app, "Test", env=ENVIRONMENT)
        settings: dict[str, Any] = {"availability_zone_ids": ["usw2-az4"], **changes}
        features = settings.pop("endpoint_features", ())
        FleetNetwork(stack, "Network", NetworkSpec(**settings), endpoint_features=features)
        return Template.from_stack(stack)

    return made


TWO_ZONES = ["usw2-az4", "usw2-az1"]
Resource = Mapping[str, Any]


def all_of(template: Template, resource_type: str) -> dict[str, Resource]:
    """Return the resources of one type, by logical id."""
    return dict(template.find_resources(resource_type))


def only(template: Template, resource_type: str) -> Resource:
    """Return the only resource of a type."""
    (resource,) = all_of(template, resource_type).values()
    return resource


def named(template: Template, resource_type: str, part: str) -> Resource:
    """Return the only resource of a type whose logical id contains `part`."""
    (resource,) = (found for name, found in all_of(template, resource_type).items() if part in name)
    return resource


def id_of(template: Template, resource_type: str, part: str = "") -> str:
    """Return the logical id of the only resource of a type that contains `part`."""
    (name,) = (name for name in all_of(template, resource_type) if part in name)
    return name


def properties(template: Template, resource_type: str) -> list[Resource]:
    """Return the properties of all resources of a type."""
    return [resource["Properties"] for resource in all_of(template, resource_type).values()]


def name_of(resource: Resource) -> str:
    """Return the Name tag."""
    return next(tag["Value"] for tag in resource["Properties"]["Tags"] if tag["Key"] == "Name")
