"""Checks whether the emulated service kept its input: accepted properties that it does not return are reported."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from llm_fleet_local.aws.resources.shapes import plain

_DEPTH = 1
"""Depth of the resource's own members in a response: `Subnets[].CidrBlock`, `Configuration.Timeout`."""


def forgotten(output_shape: Any, given: Mapping[str, Any], response: Mapping[str, Any]) -> list[str]:
    """Return the plain properties that the read operation could return, but omits or returns with another value.

    Only names in the operation's model are checked: the real service does not return others either.
    """
    returnable = {plain(name) for name in _member_names(output_shape, _DEPTH)}
    return [
        name
        for name, value in given.items()
        if plain(name) in returnable and _is_plain(value) and not _returned(value, _values_of(plain(name), response))
    ]


def _returned(given: Any, values: Iterator[Any]) -> bool:
    return any(not _is_plain(value) or _text(value) == _text(given) for value in values)


def _text(value: Any) -> list[str]:
    """Return a value in a form in which 80 and 80.0, "true" and True, and lists in another order are equal."""
    items = cast(list[Any], value) if isinstance(value, list) else [value]
    return sorted(str(item).lower().removesuffix(".0") for item in items)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str | bool | int | float) for item in cast(list[Any], value))
    return isinstance(value, str | bool | int | float)


def _values_of(name: str, value: Any) -> Iterator[Any]:
    """Yield every value of the members with this name, at any depth."""
    if isinstance(value, Mapping):
        for key, item in cast(Mapping[str, Any], value).items():
            if plain(key) == name:
                yield item
            yield from _values_of(name, item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _values_of(name, item)


def _member_names(shape: Any, depth: int) -> Iterator[str]:
    if depth < 0 or shape is None:
        return
    if shape.type_name == "structure":
        for name, member in shape.members.items():
            yield name
            yield from _member_names(member, depth - 1)
    elif shape.type_name == "list":
        yield from _member_names(shape.member, depth)
