"""A configuration of ParallelCluster against its own schema.

Unlike ParallelCluster it says where a key belongs that stands at the wrong place, and what a misspelt one was meant to
be. Paths are ParallelCluster's keys; an item of a list lies under its name. CDK tokens and CloudFormation's functions
pass.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from llm_fleet.catalog.parallelcluster_schema import SECTION, SchemaKey, parallelcluster_schema, schema_at
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.schema_sections import check_keys_together
from llm_fleet.rules.parallelcluster.schema_value import check_value, is_known_later, wrong_type
from llm_fleet.rules.parallelcluster.unknown_key import unknown_key
from llm_fleet.rules.problem import PathPart, Problem

_Path = tuple[PathPart, ...]


def check_configuration(configuration: Mapping[str, Any]) -> list[Problem]:
    """Return everything in a whole `configuration` that ParallelCluster's schema refuses."""
    return list(_section(configuration, parallelcluster_schema(), (), frozenset()))


def check_section(
    section: Mapping[str, Any], place: str, *, partial: bool = False, partial_below: Collection[str] = ()
) -> list[Problem]:
    """Return what the schema refuses in the section at `place`, e.g. `SharedStorage[]/EfsSettings`; paths are below it.

    `partial` asks for none of its required keys, for they come from elsewhere; `partial_below` says the same of places
    within. Raises `KeyError` when the schema has no section at `place`.
    """
    key = schema_at(place)
    if key is None or key.kind != SECTION:
        raise KeyError(place)
    return list(_section(section, key, (), frozenset([*partial_below, *([place] if partial else [])])))


def _section(section: Any, key: SchemaKey, path: _Path, partial: Collection[str]) -> Iterator[Problem]:
    if not isinstance(section, Mapping):
        if is_known_later(section):
            return
        yield wrong_type(section, key, path, "a section")
        return
    given = cast("Mapping[str, Any]", section)
    if len(given) == 1 and is_known_later(given):
        return
    whole = key.place not in partial
    for name, value in given.items():
        below = key.keys.get(name)
        if below is None:
            yield unknown_key(name, key, path)
        elif below.many:
            yield from _items(value, below, (*path, name), partial)
        else:
            yield from _one(value, below, (*path, name), partial)
    if whole:
        yield from _missing(given, key, path)
    yield from check_keys_together(given, key, path, whole=whole)


def _one(value: Any, key: SchemaKey, path: _Path, partial: Collection[str]) -> Iterator[Problem]:
    if key.kind == SECTION:
        yield from _section(value, key, path, partial)
    else:
        yield from check_value(value, key, path)


def _items(value: Any, key: SchemaKey, path: _Path, partial: Collection[str]) -> Iterator[Problem]:
    if not isinstance(value, list | tuple):
        if not is_known_later(value):
            yield wrong_type(value, key, path, "a list")
        return
    items = cast("list[Any] | tuple[Any, ...]", value)
    if key.length is not None and not key.length.holds(len(items)) and not any(map(is_known_later, items)):
        yield _number_of_items(len(items), key, path)
    for index, item in enumerate(items):
        yield from _one(item, key, (*path, _called(item, index, key)), partial)


def _called(item: Any, index: int, key: SchemaKey) -> PathPart:
    """The name of an item where it has one that can be read, else its number."""
    if key.item_key is None or not isinstance(item, Mapping):
        return index
    name = cast("Mapping[str, Any]", item).get(key.item_key)
    return name if isinstance(name, str) and name and not is_known_later(name) else index


def _missing(section: Mapping[str, Any], key: SchemaKey, path: _Path) -> Iterator[Problem]:
    for name, below in key.keys.items():
        if below.required and name not in section:
            yield Problem(
                code=Code.PC_KEY_MISSING,
                message=f"{key.name or 'the configuration'} has no {name}",
                remedy=f"write {name}",
                path=(*path, name),
            )


def _number_of_items(number: int, key: SchemaKey, path: _Path) -> Problem:
    allowed = key.length.range if key.length is not None else ""
    return Problem(
        code=Code.PC_KEY_VALUE,
        message=f"ParallelCluster's {key.name} does not take {number} items",
        remedy="write as many as allowed",
        path=path,
        value=number,
        allowed=allowed,
    )
