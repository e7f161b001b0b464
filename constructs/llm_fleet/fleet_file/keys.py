"""Texts of rules, which name attributes, with the keys of the fleet file."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from llm_fleet.fleet_file.fleet import Fleet, NetworkConfig
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.spec.model import FleetModel, models_in, models_on


def in_keys(problem: Problem, path: tuple[PathPart, ...]) -> Problem:
    """Return `problem` with the keys of the file, in backticks, in all its texts.

    `path`: that of the problem in attribute names, with the kinds of mappings. If several mappings have an attribute,
    the nearest one decides. Names with an underscore are replaced everywhere, ordinary words only in backticks.
    The texts of a list's item, e.g. a node step, name values: they are not changed.
    """
    holders = models_on(Fleet, path)
    if path and isinstance(path[-1], int) and holders == models_on(Fleet, path[:-1]):
        return problem
    words = words_of(holders[1:])
    message, allowed, remedy = map(words.written, (problem.message, problem.allowed, problem.remedy))
    return replace(problem, message=message, allowed=allowed, remedy=remedy)


@dataclass(frozen=True, slots=True)
class Words:
    """Replaces attributes by their keys."""

    keys: Mapping[str, str]
    names: re.Pattern[str]

    def written(self, text: str) -> str:
        """Return `text` with keys."""
        spans = text.split("`")
        if len(spans) % 2 == 0:  # A backtick that does not begin a name.
            return text
        written = (self._in_backticks(span) if at % 2 else self._plain(span) for at, span in enumerate(spans))
        return "`".join(written)

    def _in_backticks(self, span: str) -> str:
        return self.keys.get(span) or self.names.sub(lambda found: self.keys[found[0]], span)

    def _plain(self, span: str) -> str:
        return self.names.sub(lambda found: f"`{self.keys[found[0]]}`", span)


@cache
def words_of(holders: tuple[type[FleetModel], ...]) -> Words:
    """Return the keys of the attributes of `holders`, outermost first, and of all mappings in them."""
    keys: dict[str, str] = {}
    for holder in (*reversed(holders), NetworkConfig):
        for model in models_in(holder):
            for attribute, key in _keys_of(model):
                if model in holders or _is_name(attribute):
                    keys.setdefault(attribute, key)
    changed = {attribute: key for attribute, key in keys.items() if attribute != key}
    names = sorted(filter(_is_name, changed), key=len, reverse=True)
    return Words(changed, re.compile(rf"\b({'|'.join(names)})\b"))


def _is_name(attribute: str) -> bool:
    """Return whether `attribute` is no ordinary word."""
    return "_" in attribute or attribute.isupper()


def _keys_of(model: type[FleetModel]) -> Iterator[tuple[str, str]]:
    yield from model.written_as.items()
    for attribute in model.model_fields:
        if (key := model.key_of(attribute)).isidentifier():  # The alias of a field for Python only is no word.
            yield attribute, key
