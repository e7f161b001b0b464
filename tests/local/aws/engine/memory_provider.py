"""A resource provider without services, to test the engine alone."""

import time
from collections.abc import Mapping
from itertools import count
from typing import Any

from llm_fleet_local.aws.resource_provider import (
    Created,
    Level,
    NothingChanged,
    ReplacementNeeded,
    Request,
    ResourceFailed,
)
from llm_fleet_local.aws.template.values import TemplateError


class MemoryProvider:
    """Serves `Test::Thing`: `Name` can only be set at creation, `Fail` names a call that fails."""

    def __init__(self) -> None:
        self.things: dict[str, Mapping[str, Any]] = {}
        self.calls: list[str] = []
        self.tags: dict[str, Mapping[str, str]] = {}
        self.stuck: set[str] = set()
        self.delay = 0.0
        self._numbers = count(1)

    def check(self, resource_type: str, properties_unresolved: Mapping[str, Any]) -> list[str]:
        if resource_type != "Test::Thing":
            return [f"unknown type {resource_type}"]
        unknown = set(properties_unresolved) - {"Name", "Value", "Values", "Fail", "Tags"}
        return [f"unknown property {name}" for name in sorted(unknown)]

    def attribute_names(self, resource_type: str) -> frozenset[str] | None:
        return frozenset(("Arn", "Value"))

    def replacing(self, resource_type: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
        return frozenset(("Name",)) if before.get("Name") != after.get("Name") else frozenset()

    def create(self, request: Request) -> Created:
        time.sleep(self.delay)
        self.calls.append(f"create {request.logical_id}")
        if request.properties.get("Fail") == "create":
            raise ResourceFailed(f"no {request.logical_id} for you")
        return self._keep(request, f"thing-{next(self._numbers)}")

    def update(self, request: Request) -> Created:
        assert request.old_properties is not None
        assert request.physical_id in self.things
        if request.old_properties.get("Name") != request.properties.get("Name"):
            raise ReplacementNeeded
        if request.properties.get("Fail") == "refuse":
            raise NothingChanged(f"{request.logical_id} shall not be")
        self.calls.append(f"update {request.logical_id}")
        if request.properties.get("Fail") == "update":
            raise ResourceFailed(f"no change of {request.logical_id}")
        return self._keep(request, request.physical_id or "")

    def delete(self, request: Request) -> None:
        self.calls.append(f"delete {request.logical_id}")
        if request.logical_id in self.stuck:
            raise ResourceFailed(f"{request.logical_id} is in use")
        self.things.pop(request.physical_id or "", None)

    def exists(self, resource_type: str, physical_id: str) -> bool:
        return physical_id in self.things

    def _keep(self, request: Request, physical_id: str) -> Created:
        self.things[physical_id] = dict(request.properties)
        self.tags[physical_id] = dict(request.tags)
        return Created(
            physical_id=physical_id,
            attributes={"Arn": f"arn:{physical_id}", "Value": request.properties.get("Value", "")},
            level=Level.RECORDED if request.properties.get("Value") == "recorded" else Level.API,
        )


class MemoryLookups:
    """Parameters, secrets and objects from dictionaries."""

    def __init__(self) -> None:
        self.parameters: dict[str, str] = {}
        self.secrets: dict[str, str] = {}
        self.objects: dict[str, str] = {}

    def ssm_parameter(self, region: str, name: str, version: str | None = None) -> str:
        return self._get(self.parameters, name)

    def secret(self, region: str, secret_id: str, stage: str | None, version_id: str | None) -> str:
        return self._get(self.secrets, secret_id)

    def availability_zones(self, region: str) -> list[str]:
        return [f"{region}{letter}" for letter in "abc"]

    def object_text(self, url: str, region: str) -> str:
        return self._get(self.objects, url)

    def _get(self, values: dict[str, str], name: str) -> str:
        if name not in values:
            raise TemplateError(f"{name} does not exist")
        return values[name]
