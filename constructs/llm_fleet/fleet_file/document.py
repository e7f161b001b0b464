"""What a fleet file holds, with the place of each key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.fleet_file.located import LocatedProblem, locate
from llm_fleet.rules.problem import PathPart, Problem

YamlPath = tuple[PathPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The plain values of a fleet file."""

    data: dict[str, Any]
    places: Mapping[YamlPath, tuple[int, int]]
    """Line and column, both from 1, of each key and list item."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """What the reader had to leave out."""

    def locate(self, problem: Problem) -> LocatedProblem:
        """Return `problem` with its line: that of its own path, or of the nearest one around it."""
        path = problem.path
        while path and path not in self.places:
            path = path[:-1]
        line, column = self.places.get(path, (1, 1))
        return locate(problem, line, column)
