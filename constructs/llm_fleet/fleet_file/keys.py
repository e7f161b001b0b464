"""Texts of rules, which name attributes, with the keys of a fleet file."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from llm_fleet.rules.problem import Problem
from llm_fleet.spec.model import FleetModel


class Keys:
    """The keys of attributes with a different key.

    Names with an underscore are replaced everywhere, ordinary words only in backticks.
    """

    def __init__(
        self, *models: type[FleetModel], others: Mapping[str, str] | None = None, quoted: bool = False
    ) -> None:
        """Take the attributes of `models` and `others`; `quoted`: whether to write each key in backticks."""
        self._keys = {**dict(_keys_of(models)), **(others or {})}
        names = sorted(self._keys, key=len, reverse=True)
        plain = [name for name in names if "_" in name or name in (others or {})]
        self._name = re.compile(rf"`({'|'.join(names)})`|\b({'|'.join(plain)})\b")
        self._quoted = quoted

    def written(self, text: str) -> str:
        """Return `text` with keys."""
        return self._name.sub(self._key, text)

    def of(self, problem: Problem) -> Problem:
        """Return `problem` with keys in all its texts."""
        message, allowed, remedy = map(self.written, (problem.message, problem.allowed, problem.remedy))
        return replace(problem, message=message, allowed=allowed, remedy=remedy)

    def _key(self, found: re.Match[str]) -> str:
        if found[1] is not None:
            return f"`{self._keys[found[1]]}`"
        key = self._keys[found[2]]
        return f"`{key}`" if self._quoted else key


def _keys_of(models: tuple[type[FleetModel], ...]) -> Iterator[tuple[str, str]]:
    for model in models:
        for attribute in (*model.model_fields, *model.written_as):
            key = model.key_of(attribute)
            if key != attribute and key.isidentifier():  # The alias of a field for Python only is no word.
                yield attribute, key
