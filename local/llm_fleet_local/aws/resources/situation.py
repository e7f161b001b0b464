"""The state while a resource is created, updated or deleted: the names for the `$expressions` of a table."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from llm_fleet_local.aws.resource_provider import Request
from llm_fleet_local.aws.resources.services import Services
from llm_fleet_local.aws.resources.spec import TypeSpec


class Stage(StrEnum):
    """The operation on the resource."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(slots=True, kw_only=True)
class Situation:
    """One resource during one request."""

    spec: TypeSpec
    services: Services
    request: Request
    stage: Stage
    props: dict[str, Any]
    """Typed properties, with generated names; on deletion the last ones."""
    old: dict[str, Any] = field(default_factory=dict[str, Any])
    created: dict[str, Any] = field(default_factory=dict[str, Any])
    """The creation's response."""
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    """The result of the last read."""
    response: dict[str, Any] = field(default_factory=dict[str, Any])
    """The whole response to the last read."""
    ref: str | None = None
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    """Values that a hook computed for the table's calls."""
    unique: str = field(default_factory=lambda: secrets.token_hex(6).upper())
    """A part of generated ids: one logical resource has two ids while it is replaced."""
    notes: list[str] = field(default_factory=list[str])

    def words(self, **more: Any) -> Mapping[str, Any]:
        """Return the names with which expressions can begin."""
        request = self.request
        return {
            "props": self.props,
            "old": self.old,
            "created": self.created,
            "found": self.found,
            "ref": self.ref,
            "parts": (self.ref or "").split("|"),
            "extra": self.extra,
            "region": request.region,
            "account": request.account,
            "stack_id": request.stack_id,
            "logical_id": request.logical_id,
            "unique": f"{request.stack_name}-{request.logical_id}-{self.unique}",
            **more,
        }

    def call(self, operation: str, params: Mapping[str, Any], service: str = "") -> dict[str, Any]:
        """Call an operation of the resource's service in its region."""
        return self.services.call(service or self.spec.service, self.request.region, operation, params)
