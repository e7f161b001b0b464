"""Whatever is wrong: the message is made as all are, and its path leads to an attribute of the cluster."""

from collections.abc import Mapping
from typing import Any

import pytest

from llm_fleet.rules.parallelcluster.check import check_parallelcluster
from llm_fleet.rules.problem import PathPart
from tests.agreement.parallelcluster.defect import Defect
from tests.agreement.parallelcluster.defects import DEFECTS
from tests.agreement.parallelcluster.stricter import STRICTER, Stricter


@pytest.mark.parametrize("defect", [*DEFECTS, *STRICTER], ids=str)
def test_problem_is_told_well(defect: Defect | Stricter):
    problems = check_parallelcluster(defect.cluster)
    assert {problem.code for problem in problems} == {defect.code}
    for problem in problems:
        assert problem.message
        assert problem.remedy
        assert not problem.message.endswith(".")
        assert not problem.remedy.endswith(".")
        assert "  " not in problem.message
        assert _leads_somewhere(defect.cluster, problem.path), problem.path


@pytest.mark.parametrize("defect", DEFECTS, ids=str)
def test_the_neighbour_is_good(defect: Defect):
    assert [str(problem) for problem in check_parallelcluster(defect.good)] == []


def _leads_somewhere(place: Any, path: tuple[PathPart, ...]) -> bool:
    """Whether `path` goes by attributes, items' names and keys, and ends at one of the place's own."""
    if not path:
        return True
    first, rest = path[0], path[1:]
    if isinstance(place, Mapping):
        return (first in place and _leads_somewhere(place[first], rest)) or not rest
    if isinstance(place, list | tuple):
        named = [item for item in place if getattr(item, "name", None) == first]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(first, int):
            return _leads_somewhere(place[first], rest)
        return any(_leads_somewhere(item, rest) for item in named)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if place is None:
        return not rest
    return hasattr(place, str(first)) and _leads_somewhere(getattr(place, str(first)), rest)
