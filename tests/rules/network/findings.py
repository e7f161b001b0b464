"""Reads what a rule found."""

from collections.abc import Sequence

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem

TOKEN = "${Token[TOKEN.123]}"
NUMBER_TOKEN = -1.8881545897087e289
ACRONYMS = ("AWS", "AZ", "CloudWatch")


def only(problems: Sequence[Problem], code: Code, *path: PathPart) -> Problem:
    """Return the one problem found, which has `code`, lies at `path` and reads as problems do."""
    assert [(problem.code, problem.path) for problem in problems] == [(code, path)]
    problem = problems[0]
    for text in (problem.message, problem.remedy):
        assert text
        assert text[0] == text[0].lower() or text.startswith(ACRONYMS)
        assert not text.endswith(".")
    return problem
