"""A section of a ParallelCluster configuration of which each key is taken once, so that what is left can be told."""

import re
from collections.abc import Mapping
from typing import Any, cast

from llm_fleet.cli.importing.notes import Notes
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.overrides import check_overrides
from llm_fleet.rules.parallelcluster.typed_keys import Place
from llm_fleet.rules.problem import PathPart

_KNOWN = (Code.PC_OVERRIDE_TYPED, Code.PC_OVERRIDE_SCRIPT)
"""Refused as overrides, and understood all the same."""
_PLACEHOLDER = re.compile(r"\$\{?\w+\}?|<[^<>]+>|\{\{.+\}\}")


class Section:
    """One mapping, and where it stands, for notes."""

    def __init__(self, values: Any, where: str, notes: Notes) -> None:
        """Take a copy of `values`; what is no mapping counts as an empty one, and is told."""
        self.where = where
        self.notes = notes
        if values is not None and not isinstance(values, Mapping):
            notes.not_understood(f"{where} {values!r}: a mapping of keys to values should stand here")
        self._values: dict[str, Any] = _copied(values) if isinstance(values, Mapping) else {}

    def take(self, path: str) -> Any:
        """Return what stands at `path`, e.g. `Networking/SubnetId`, and take it away; `None` where nothing does.

        A placeholder that a template left to be filled in is nothing, and is told.
        """
        *above, last = path.split("/")
        holder: Any = self._values
        for key in above:
            holder = _below(holder, key)
        if not isinstance(holder, dict):
            return None
        found: Any = cast("dict[str, Any]", holder).pop(last, None)
        return self._filled(found, path)

    def items(self, path: str) -> list[Any]:
        """Return the list at `path`, without placeholders, and take it away; empty where there is none."""
        found = self.take(path)
        if found is None:
            return []
        given = cast("list[Any]", found) if isinstance(found, list) else [found]
        return [item for item in given if self._filled(item, path) is not None]

    def say(self, path: str) -> str:
        """Return where `path` stands in the whole configuration, e.g. `HeadNode.Ssh.KeyName`."""
        return ".".join([*([self.where] if self.where else []), *path.split("/")])

    def leave_rest(self, reason: str) -> None:
        """Say of what nobody has taken that it is left out."""
        for key in _pruned(self._values):
            self.notes.left_out(f"{self.say(key)}: {reason}")

    def overrides(self, place: Place) -> dict[str, Any]:
        """Return, as the key `overrides`, what nobody has taken and ParallelCluster knows; say what it does not."""
        for path, value in _placeholders(self._values, ()):
            _remove(self._values, path)
            self.notes.left_out(f"{self.say('/'.join(map(str, path)))} {value}: a placeholder")
        for problem in check_overrides(_pruned(self._values), place):
            path = problem.path[1:]
            if _remove(self._values, path):
                told = self.say("/".join(map(str, path)))
                say = self.notes.left_out if problem.code in _KNOWN else self.notes.not_understood
                say(f"{told}: {problem.message}; {problem.remedy}")
        kept = _pruned(self._values)
        if not kept:
            return {}
        names = ", ".join(self.say(key) for key in kept)
        self.notes.chosen(f"{names}: under `overrides`, as written; the fleet file has no words for it")
        return {"overrides": kept}

    def _filled(self, value: Any, path: str) -> Any:
        if not isinstance(value, str) or not _PLACEHOLDER.fullmatch(value.strip()):
            return value
        self.notes.left_out(f"{self.say(path)} {value}: a placeholder")
        return None


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _copied(inner) for key, inner in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_copied(item) for item in cast("list[Any]", value)]
    return value


def _placeholders(value: Any, path: tuple[PathPart, ...]) -> list[tuple[tuple[PathPart, ...], str]]:
    if isinstance(value, str):
        return [(path, value)] if _PLACEHOLDER.fullmatch(value.strip()) else []
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value)
        return [found for key, below in inner.items() for found in _placeholders(below, (*path, key))]
    if isinstance(value, list):
        items = cast("list[Any]", value)
        # The last first, so that removing one moves none of those still to remove.
        return [found for index in reversed(range(len(items))) for found in _placeholders(items[index], (*path, index))]
    return []


def _remove(values: Any, path: tuple[PathPart, ...]) -> bool:
    """Remove what stands at `path`, or the nearest thing around it that is there; return whether there was any."""
    holders: list[tuple[Any, PathPart]] = []
    holder = values
    for part in path:
        below = _below(holder, part)
        if below is _NOTHING:
            break
        holders.append((holder, part))
        holder = below
    if holders:
        inner, last = holders[-1]
        del inner[last]
    return bool(holders)


_NOTHING = object()


def _below(holder: Any, part: PathPart) -> Any:
    if isinstance(holder, dict):
        return cast("dict[Any, Any]", holder).get(part, _NOTHING)
    if isinstance(holder, list) and isinstance(part, int) and part < len(cast("list[Any]", holder)):
        return cast("list[Any]", holder)[part]
    return _NOTHING


def _pruned(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` without mappings and lists that have nothing left in them."""
    pruned = {
        key: _pruned(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value
        for key, value in values.items()
    }
    return {key: value for key, value in pruned.items() if value not in ({}, [], None)}
