"""A problem with the line of the fleet file where it stands."""

from dataclasses import dataclass

from llm_fleet.rules.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedProblem(Problem):
    """A `Problem` of a file, which an editor can jump to."""

    line: int
    """Counted from 1."""
    column: int
    """Counted from 1."""

    def __str__(self) -> str:
        first, *rest = Problem.__str__(self).split("\n")
        return "\n".join([f"{first}  line {self.line}", *rest])


def locate(problem: Problem, line: int, column: int) -> LocatedProblem:
    """Return `problem` with its place in the file."""
    return LocatedProblem(
        code=problem.code,
        message=problem.message,
        remedy=problem.remedy,
        path=problem.path,
        value=problem.value,
        allowed=problem.allowed,
        line=line,
        column=column,
    )
