"""Reads templates."""

from collections.abc import Mapping
from typing import Any

from aws_cdk.assertions import Template

TWO_ZONES = ["usw2-az4", "usw2-az1"]
Resource = Mapping[str, Any]


def all_of(template: Template, resource_type: str) -> dict[str, Resource]:
    """Return the resources of one type, by logical id."""
    return dict(template.find_resources(resource_type))


def only(template: Template, resource_type: str) -> Resource:
    """Return the one resource of a type."""
    (resource,) = all_of(template, resource_type).values()
    return resource


def named(template: Template, resource_type: str, part: str) -> Resource:
    """Return the one resource of a type whose logical id has `part` in it."""
    (resource,) = (found for name, found in all_of(template, resource_type).items() if part in name)
    return resource


def id_of(template: Template, resource_type: str, part: str = "") -> str:
    """Return the logical id of the one resource of a type that has `part` in it."""
    (name,) = (name for name in all_of(template, resource_type) if part in name)
    return name


def properties(template: Template, resource_type: str) -> list[Resource]:
    """Return the properties of all resources of a type."""
    return [resource["Properties"] for resource in all_of(template, resource_type).values()]


def name_of(resource: Resource) -> str:
    """Return the Name tag."""
    return next(tag["Value"] for tag in resource["Properties"]["Tags"] if tag["Key"] == "Name")
