"""Validates a document against a JSON schema, with only the keywords that fleet.schema.json uses.

The CDK library validates with a full implementation against the same file; tests compare both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}

KEYWORDS = frozenset(
    {"$ref", "additionalProperties", "const", "enum", "items", "minItems"}
    | {"minLength", "minimum", "pattern", "properties", "required", "type"}
)
"""Supported keywords for validation. Other keywords can only be descriptions."""


def violations(value: Any, schema: dict[str, Any], root: dict[str, Any], where: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the description of each violation, e.g. `("groups[0].role", "is 'Boss', not one of …")`."""
    if "$ref" in schema:
        yield from violations(value, _follow(schema["$ref"], root), root, where)
        return
    wrong = _wrong_kind(value, schema)
    if wrong:
        yield where, wrong
    elif isinstance(value, dict):
        yield from _object(cast("dict[str, Any]", value), schema, root, where)
    elif isinstance(value, list):
        yield from _array(cast("list[Any]", value), schema, root, where)
    elif isinstance(value, str):
        yield from ((where, text) for text in _string(value, schema))
    elif "minimum" in schema and value is not None and value < schema["minimum"]:
        yield where, f"is {value}, less than {schema['minimum']}"


def _wrong_kind(value: Any, schema: dict[str, Any]) -> str | None:
    if "const" in schema and not _same(value, schema["const"]):
        return f"is {value!r}, not {schema['const']!r}"
    if "enum" in schema and not any(_same(value, allowed) for allowed in schema["enum"]):
        return f"is {value!r}, not one of {', '.join(map(repr, schema['enum']))}"
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else cast("list[str]", schema["type"])
        if not any(_is(value, name) for name in names):
            return f"is {value!r}, not of type {' or '.join(names)}"
    return None


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, float):
        return name == "integer" and value.is_integer()
    return isinstance(value, _TYPES[name])


def _same(value: Any, other: Any) -> bool:
    """Return whether both are equal in JSON, where `true` is not 1."""
    return isinstance(value, bool) == isinstance(other, bool) and value == other


def _object(
    value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], where: str
) -> Iterator[tuple[str, str]]:
    properties = cast("dict[str, dict[str, Any]]", schema.get("properties", {}))
    for name in cast("list[str]", schema.get("required", [])):
        if name not in value:
            yield _below(where, name), "is missing"
    for name, item in value.items():
        if name in properties:
            yield from violations(item, properties[name], root, _below(where, name))
        elif schema.get("additionalProperties") is False:
            yield _below(where, name), "is not known"


def _array(value: list[Any], schema: dict[str, Any], root: dict[str, Any], where: str) -> Iterator[tuple[str, str]]:
    if len(value) < schema.get("minItems", 0):
        yield where, f"has {len(value)} items, fewer than {schema['minItems']}"
    if "items" in schema:
        for index, item in enumerate(value):
            yield from violations(item, schema["items"], root, f"{where}[{index}]")


def _string(value: str, schema: dict[str, Any]) -> Iterator[str]:
    if len(value) < schema.get("minLength", 0):
        yield "is empty"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"is {value!r}, which does not match {schema['pattern']}"


def _follow(reference: str, root: dict[str, Any]) -> dict[str, Any]:
    found: Any = root
    for part in reference[len("#/") :].split("/"):
        found = found[part]
    return cast("dict[str, Any]", found)


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
