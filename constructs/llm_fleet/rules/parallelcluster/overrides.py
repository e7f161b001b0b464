"""The way out for keys of ParallelCluster that have no attribute: checked as if they had one."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, cast

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_section
from llm_fleet.rules.parallelcluster.typed_keys import TYPED_KEYS, Place
from llm_fleet.rules.problem import Problem

_SCRIPTS = "CustomActions"


def check_overrides(overrides: Mapping[str, Any], place: Place) -> list[Problem]:
    """Check `overrides` that are laid in at `place`: every key legal there, none that has an attribute, no script.

    Paths begin with `overrides`.
    """
    if not isinstance(overrides, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - not every user has types
        return [_no_map(overrides)]
    if not overrides:
        return []
    refused = list(_refused(overrides, place))
    schema = check_section(overrides, place, partial=True, partial_below=_rendered_sections(place))
    told = [problem.path for problem in refused]
    others = [one for one in schema if not any(one.path[: len(path)] == path for path in told)]
    return [problem.under("overrides") for problem in (*refused, *others)]


def _refused(overrides: Mapping[str, Any], place: Place, above: tuple[str, ...] = ()) -> Iterator[Problem]:
    """Scripts and keys that have an attribute, wherever they are in `overrides`."""
    typed = TYPED_KEYS[place]
    for key, value in overrides.items():
        path = (*above, str(key))
        attribute = typed.get("/".join(path))
        if attribute is not None:
            yield _has_attribute(path, value, attribute)
        elif path == (_SCRIPTS,):
            yield _script(path)
        elif isinstance(value, Mapping):
            yield from _refused(cast("Mapping[str, Any]", value), place, path)


@cache
def _rendered_sections(place: Place) -> frozenset[str]:
    """The sections at `place` that have typed keys: what they require is rendered from attributes."""
    root = f"{place}/" if place else ""
    return frozenset(f"{root}{section}" for key in TYPED_KEYS[place] for section in _sections_of(key))


def _sections_of(key: str) -> Iterable[str]:
    parts = key.split("/")
    return ("/".join(parts[:length]) for length in range(1, len(parts)))


def _no_map(value: object) -> Problem:
    return Problem(
        code=Code.PC_KEY_TYPE,
        message="the overrides are no map of ParallelCluster's keys",
        remedy="write a map, or leave them out",
        path=("overrides",),
        value="nothing" if value is None else value,
        allowed="a map",
    )


def _has_attribute(path: tuple[str, ...], value: Any, attribute: str) -> Problem:
    return Problem(
        code=Code.PC_OVERRIDE_TYPED,
        message=f"{'/'.join(path)} has an attribute of its own, whose checks an override would pass by",
        remedy=f"use {attribute}",
        path=path,
        value=value,
    )


def _script(path: tuple[str, ...]) -> Problem:
    return Problem(
        code=Code.PC_OVERRIDE_SCRIPT,
        message="a script of one's own would take the place of the one that makes the nodes",
        remedy="make it an OwnStep: it runs among the others, with retries, a time limit and a report",
        path=path,
    )
