"""Reads what the rules of ParallelCluster found."""

from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.check import check_parallelcluster
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.problem import PathPart, Problem

TOKEN = "${Token[TOKEN.123]}"
NUMBER_TOKEN: int = -1.8881545897087e289  # pyright: ignore[reportAssignmentType]
LIST_TOKEN = ("#{Token[TOKEN.124]}",)


def only(cluster: ClusterShape, code: Code, *path: PathPart) -> Problem:
    """The one problem of `cluster`, which has `code` and lies at `path`; none other may be there."""
    problems = check_parallelcluster(cluster)
    assert [(problem.code, problem.path) for problem in problems] == [(code, path)]
    return problems[0]


def codes(cluster: ClusterShape) -> list[AnyCode]:
    """The codes of all problems, in their order."""
    return [problem.code for problem in check_parallelcluster(cluster)]
