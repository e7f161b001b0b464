"""Notebooks of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator

from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.problem import Problem


def check_notebooks(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with notebooks of `fleet`, by attribute names."""
    yield from ()
