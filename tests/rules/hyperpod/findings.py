"""Reads what a rule found."""

from collections.abc import Sequence

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem

TOKEN = "${Token[TOKEN.123]}"
NUMBER_TOKEN = -1.8881545897087e289


def only(problems: Sequence[Problem], code: Code, *path: PathPart) -> Problem:
    """The one problem found, which has `code` and lies at `path`; none other may be there."""
    assert [(problem.code, problem.path) for problem in problems] == [(code, path)]
    problem = problems[0]
    assert problem.message
    assert problem.message[0] == problem.message[0].lower() or problem.message.startswith(PROPER_NOUNS)
    assert not problem.message.endswith(".")
    assert problem.remedy
    assert not problem.remedy.endswith(".")
    return problem


PROPER_NOUNS = ("HyperPod", "AWS", "OnCreate", "Continuous", "FSx", "InstanceStress", "InstanceConnectivity")
