"""What is at hand while a resource is created, updated or deleted: the words that a table's `$expressions` may use."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from local.aws.resource_provider import Request
from local.aws.resources.services import Services
from local.aws.resources.spec import TypeSpec


class Stage(StrEnum):
    """What is being done."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(slots=True, kw_only=True)
class Situation:
    """One resource in the middle of one request."""

    spec: TypeSpec
    services: Services
    request: Request
    stage: Stage
    props: dict[str, Any]
    """Typed properties, with generated names; on deletion those it was last made with."""
    old: dict[str, Any] = field(default_factory=dict[str, Any])
    created: dict[str, Any] = field(default_factory=dict[str, Any])
    """The creation's response."""
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    """What reading the resource gave."""
    response: dict[str, Any] = field(default_factory=dict[str, Any])
    """The whole response to the last read."""
    ref: str | None = None
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    """What a hook worked out for the table's calls."""
    unique: str = field(default_factory=lambda: secrets.token_hex(6).upper())
    """For ids that CloudFormation makes: one logical resource has two while it is being replaced."""
    notes: list[str] = field(default_factory=list[str])

    def words(self, **more: Any) -> Mapping[str, Any]:
        """Return the names that expressions may begin with."""
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
