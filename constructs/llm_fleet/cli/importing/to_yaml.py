"""Writes a fleet file that a person would have written."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from llm_fleet.config.yaml_scalars import plain_scalar

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./%+-]*( [A-Za-z0-9_./%+-]+)*")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def to_yaml(values: Mapping[str, Any], *, heading: str, comments: Mapping[tuple[str, ...], str]) -> str:
    """Return the text of a fleet file; `comments` stand above the keys whose paths they have."""
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    lines += _mapping(values, (), comments)
    return "\n".join(lines) + "\n"


def _mapping(
    values: Mapping[str, Any], path: tuple[str, ...], comments: Mapping[tuple[str, ...], str]
) -> Iterator[str]:
    indent = "  " * len(path)
    for key, value in values.items():
        at = (*path, key)
        if not path:
            yield ""
        if at in comments:
            yield from (f"{indent}# {line}" for line in comments[at].splitlines())
        name = _name(key)
        if isinstance(value, Mapping) and value:
            yield f"{indent}{name}:"
            yield from _mapping(cast(Mapping[str, Any], value), at, comments)
        else:
            yield f"{indent}{name}: {_value(value)}"


def _name(key: str) -> str:
    return key if _KEY.fullmatch(key) and plain_scalar(key) == key else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, cast(list[Any], value)))}]"
    if isinstance(value, Mapping):
        entries = cast(Mapping[str, Any], value).items()
        return "{" + ", ".join(f"{_name(key)}: {_value(inner)}" for key, inner in entries) + "}"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and plain_scalar(value) == value else json.dumps(value)
    return json.dumps(value)
