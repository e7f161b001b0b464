"""Assertions about the problems that a rule found."""

import re
from collections.abc import Sequence

from llm_fleet.rules.problem import AnyCode, Problem

TOKEN = "${Token[TOKEN.123]}"
NUMBER_TOKEN = -1.8881545897087e289
_PROPER_NOUN = re.compile(
    r"[A-Z][A-Z\d_]+\b|CloudWatch|Continuous|EBS|EC2|FSx|GPU|HyperPod|Instance|Lustre|OnCreate|OpenZFS|ParallelCluster"
)


def check_one(found: Sequence[Problem], code: AnyCode, where: str, *said: str) -> None:
    """Assert that one problem was found, with `code` at `where`, and with each text of `said` in correct style."""
    assert [(problem.code, problem.where) for problem in found] == [(code, where)]
    (problem,) = found
    assert [text for text in said if text not in str(problem)] == [], str(problem)
    for text in (problem.message, problem.remedy):
        assert text
        assert text[0] == text[0].lower() or _PROPER_NOUN.match(text)
        assert not text.endswith(".")
