"""CloudFormation's resource schemas, from cfn-lint: properties of types, and checks of values."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

import regex
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER, ResourceNotFoundError
from jsonschema import Draft7Validator, validators  # pyright: ignore[reportUnknownVariableType]
from jsonschema.exceptions import (
    ValidationError,
    best_match,  # pyright: ignore[reportUnknownVariableType]
)

REGION = "us-west-2"
"""Schemas of Regions differ almost only in the existing types; this Region has all types in the tables."""


@cache
def schema_of(resource_type: str) -> Mapping[str, Any] | None:
    """Return the schema of a resource type, `None` for an unknown type."""
    try:
        found = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, resource_type)
    except ResourceNotFoundError:
        return None
    return cast(Mapping[str, Any], found.schema)  # pyright: ignore[reportUnknownMemberType]


def value_problems(resource_type: str, properties: Mapping[str, Any]) -> list[str]:
    """Return errors of resolved properties: unknown and missing names, types, enums, patterns, limits."""
    schema = schema_of(resource_type)
    if schema is None:
        return [f"CloudFormation has no resource type {resource_type}"]
    problems = [_message(error) for error in _validator(resource_type).iter_errors(dict(properties))]  # pyright: ignore
    return problems + [f"{path} is read-only" for path in _read_only_given(schema, properties)]


def name_problems(resource_type: str, properties: Mapping[str, Any]) -> list[str]:
    """Return unknown, read-only and missing property names at any depth; functions are not checked."""
    schema = schema_of(resource_type)
    if schema is None:
        return [f"CloudFormation has no resource type {resource_type}"]
    read_only = [f"{path} is read-only" for path in _read_only_given(schema, properties)]
    return [*_name_problems(properties, schema, schema, ""), *read_only]


def create_only_paths(resource_type: str) -> tuple[tuple[str, ...], ...]:
    """Return the paths of properties that cannot be changed in place; `*` means every member of a list."""
    schema = schema_of(resource_type) or {}
    return tuple(_path(pointer) for pointer in schema.get("createOnlyProperties", ()))


def values_at(value: Any, path: tuple[str, ...]) -> list[Any]:
    """Return the values at a schema path; missing ones are omitted."""
    if not path:
        return [value]
    if path[0] == "*":
        items = cast(list[Any], value) if isinstance(value, list) else []
        return [found for item in items for found in values_at(item, path[1:])]
    if isinstance(value, Mapping) and path[0] in value:
        return values_at(cast(Mapping[str, Any], value)[path[0]], path[1:])
    return []


def _path(pointer: str) -> tuple[str, ...]:
    return tuple(part for part in pointer.split("/")[2:] if part != "properties")


def _read_only_given(schema: Mapping[str, Any], properties: Mapping[str, Any]) -> list[str]:
    paths = [_path(pointer) for pointer in schema.get("readOnlyProperties", ())]
    writable = {_path(pointer) for pointer in schema.get("createOnlyProperties", ())}
    return [".".join(path) for path in paths if path not in writable and values_at(properties, path)]


def _name_problems(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], path: str) -> Iterator[str]:
    schema = dereferenced(schema, root)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for index, item in enumerate(cast(list[Any], value)):
            yield from _name_problems(item, schema["items"], root, f"{path}[{index}]")
    if not isinstance(value, Mapping) or is_intrinsic(cast(Mapping[str, Any], value)):
        return
    members = cast(Mapping[str, Any], value)
    known: Mapping[str, Any] = schema.get("properties", {})
    open_ended = schema.get("additionalProperties", True) is not False or "patternProperties" in schema
    for name, member in members.items():
        if name in known:
            yield from _name_problems(member, known[name], root, f"{path}.{name}" if path else name)
        elif known and not open_ended:
            yield f"unknown property {f'{path}.{name}' if path else name}"
    for name in schema.get("required", ()):
        if name not in members:
            yield f"property {f'{path}.{name}' if path else name} is required"


def is_intrinsic(value: Mapping[str, Any]) -> bool:
    """Return whether an object in a template is an intrinsic function."""
    name = next(iter(value), "")
    return len(value) == 1 and (name in ("Ref", "Condition") or name.startswith("Fn::"))


def dereferenced(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a schema's `$ref` within its root."""
    while "$ref" in schema:
        found: Any = root
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def _message(error: ValidationError) -> str:
    if error.context:
        error = cast(ValidationError, best_match(error.context))
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    unknown = re.search(r"\((.+) (?:was|were) unexpected\)", error.message)
    if unknown:
        return f"unknown property {where + '.' if where else ''}{unknown[1]}".replace("'", "")
    return f"{where or 'properties'}: {error.message}"


@cache
def _validator(resource_type: str) -> Any:
    schema: Any = json.loads(json.dumps(schema_of(resource_type)))
    return validators.extend(Draft7Validator, validators={"pattern": _pattern})(schema)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if not isinstance(value, str):
        return
    try:
        matches = regex.search(pattern, value) is not None
    except regex.error:  # a pattern in another dialect cannot be checked
        return
    if not matches:
        yield ValidationError(f"{value!r} does not match {pattern!r}")
