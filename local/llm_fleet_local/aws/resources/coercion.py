"""Converts property values to the types of their schema: CloudFormation accepts "true" as true and 5 as "5"."""

import re
from collections.abc import Mapping
from typing import Any, cast

from llm_fleet_local.aws.resources.schemas import dereferenced, schema_of

_ANYTHING: Mapping[str, Any] = {}


def typed(resource_type: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties with the types in the resource's schema; other values are unchanged."""
    schema = schema_of(resource_type) or {}
    return _typed(dict(properties), schema, schema)


def _typed(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    schema = dereferenced(schema, root)
    if isinstance(value, Mapping):
        known: Mapping[str, Any] = schema.get("properties", {})
        patterns: Mapping[str, Any] = schema.get("patternProperties", {})
        others = cast(Mapping[str, Any], next(iter(patterns.values()), _ANYTHING))
        members = cast(Mapping[str, Any], value)
        return {name: _typed(member, known.get(name, others), root) for name, member in members.items()}
    if isinstance(value, list):
        return [_typed(item, schema.get("items", {}), root) for item in cast(list[Any], value)]
    return _scalar(value, schema.get("type"))


def _scalar(value: Any, kind: Any) -> Any:
    if kind == "string" and isinstance(value, bool):
        return str(value).lower()
    if kind == "string" and isinstance(value, int | float):
        return str(value)
    if kind == "boolean" and value in ("true", "True", "false", "False"):
        return value in ("true", "True")
    if kind in ("integer", "number") and isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return int(value)
    if kind == "number" and isinstance(value, str) and re.fullmatch(r"-?\d+\.\d+", value):
        return float(value)
    return value
