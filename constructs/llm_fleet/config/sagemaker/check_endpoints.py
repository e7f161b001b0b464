"""Endpoints of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator

from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.problem import Problem


def check_endpoints(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with endpoints of `fleet`, by attribute names."""
    yield from ()
