"""Maps CloudFormation's property names and values to an API operation's input, by botocore's model."""

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

_NO_RENAME: Mapping[str, str] = {}


@dataclass(slots=True)
class Mapped:
    """An operation's input, and the paths of properties that it does not have."""

    params: dict[str, Any]
    unplaced: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])


def member_for(shape: Any, name: str, rename: Mapping[str, str] = _NO_RENAME) -> str | None:
    """Return the member of a structure for a CloudFormation name: the same name, ignoring case."""
    wanted = plain(rename.get(name, name))
    return next((member for member in shape.members if plain(member) == wanted), None)


def map_properties(shape: Any, properties: Mapping[str, Any], rename: Mapping[str, str] = _NO_RENAME) -> Mapped:
    """Map properties to the members of an operation's input shape."""
    mapped = Mapped({})
    mapped.params = _map_structure(properties, shape, rename, (), mapped.unplaced)
    return mapped


def map_value(
    shape: Any, value: Any, rename: Mapping[str, str], path: tuple[str, ...]
) -> tuple[Any, list[tuple[str, ...]]]:
    """Map one value to a shape; return it with the paths that the shape does not have."""
    unplaced: list[tuple[str, ...]] = []
    return _map(value, shape, rename, path, unplaced), unplaced


def model_problems(shape: Any, value: Any, path: str = "") -> list[str]:
    """Return the errors of a value by the service model: enum, pattern, limits and required members.

    botocore itself checks only types, minima and required members of what it sends.
    """
    kind: str = shape.type_name
    if kind == "structure" and isinstance(value, Mapping):
        return _structure_problems(shape, cast(Mapping[str, Any], value), path)
    if kind == "list" and isinstance(value, list):
        items = cast(list[Any], value)
        problems = [f"{path}: {len(items)} items; {text}" for text in _outside(len(items), shape.metadata)]
        return problems + [
            one for index, item in enumerate(items) for one in model_problems(shape.member, item, f"{path}[{index}]")
        ]
    if kind == "map" and isinstance(value, Mapping):
        entries = cast(Mapping[str, Any], value)
        return [one for key, item in entries.items() for one in model_problems(shape.value, item, f"{path}.{key}")]
    if kind == "string" and isinstance(value, str):
        return _string_problems(shape, value, path)
    if kind in ("integer", "long", "float", "double") and isinstance(value, int | float):
        return [f"{path}: {value}; {text}" for text in _outside(value, shape.metadata)]
    return []


def _structure_problems(shape: Any, value: Mapping[str, Any], path: str) -> list[str]:
    problems = [f"{path or 'input'}: {name} is required" for name in shape.required_members if name not in value]
    for name, member in value.items():
        if name in shape.members:
            problems += model_problems(shape.members[name], member, f"{path}.{name}" if path else name)
    return problems


def _string_problems(shape: Any, value: str, path: str) -> list[str]:
    problems: list[str] = []
    if getattr(shape, "enum", None) and value not in shape.enum:
        problems.append(f"{path}: {value!r} is not one of {', '.join(shape.enum)}")
    problems += [f"{path}: {len(value)} characters; {text}" for text in _outside(len(value), shape.metadata)]
    pattern = shape.metadata.get("pattern")
    if pattern and _fails(pattern, value):
        problems.append(f"{path}: {value!r} does not match {pattern}")
    return problems


def _fails(pattern: str, value: str) -> bool:
    try:
        return re.fullmatch(pattern, value, re.DOTALL) is None
    except re.error:  # a Java pattern that Python cannot parse is not checked
        return False


def _outside(value: float, metadata: Mapping[str, Any]) -> list[str]:
    lowest, highest = metadata.get("min"), metadata.get("max")
    if lowest is not None and value < lowest:
        return [f"at least {lowest}"]
    if highest is not None and value > highest:
        return [f"at most {highest}"]
    return []


def _map(
    value: Any, shape: Any, rename: Mapping[str, str], path: tuple[str, ...], unplaced: list[tuple[str, ...]]
) -> Any:
    kind: str = shape.type_name
    if kind == "structure" and isinstance(value, Mapping):
        return _map_structure(cast(Mapping[str, Any], value), shape, rename, path, unplaced)
    if kind == "list":
        items = cast(list[Any], value) if isinstance(value, list) else [value]
        return [_map(item, shape.member, rename, (*path, str(index)), unplaced) for index, item in enumerate(items)]
    if kind == "map" and isinstance(value, Mapping):
        entries = cast(Mapping[str, Any], value)
        return {key: _map(item, shape.value, rename, (*path, key), unplaced) for key, item in entries.items()}
    if kind == "string" and isinstance(value, Mapping | list):
        return json.dumps(value)
    return _scalar(value, kind)


def _map_structure(
    value: Mapping[str, Any],
    shape: Any,
    rename: Mapping[str, str],
    path: tuple[str, ...],
    unplaced: list[tuple[str, ...]],
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, item in value.items():
        member = member_for(shape, name, rename)
        if member is None:
            unplaced.append((*path, name))
        else:
            result[member] = _map(item, shape.members[member], rename, (*path, name), unplaced)
    return result


def _scalar(value: Any, kind: str) -> Any:
    if kind == "string" and isinstance(value, bool):
        return str(value).lower()
    if kind == "string" and isinstance(value, int | float):
        return str(value)
    if kind == "boolean" and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if kind in ("integer", "long") and isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return int(value)
    if kind == "timestamp" and isinstance(value, str):
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    return value


def plain(name: str) -> str:
    """Return a name in lower case without underscores, in which CloudFormation and the APIs differ."""
    return name.replace("_", "").lower()
