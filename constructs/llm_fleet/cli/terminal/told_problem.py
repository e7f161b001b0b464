"""A problem as data, for `--json`."""

from typing import Any

from llm_fleet.rules.problem import Problem


def told_problem(problem: Problem) -> dict[str, Any]:
    """Return `problem` as what JSON can hold; what is not said is left out."""
    told = {
        "code": problem.code.value,
        "where": problem.where,
        "message": problem.message,
        "given": None if problem.value is None else str(problem.value),
        "allowed": problem.allowed,
        "remedy": problem.remedy,
    }
    return {key: value for key, value in told.items() if value}
