"""One thing that is asked of an account, and what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from llm_fleet.cli.check.account import Account
from llm_fleet.cli.check.topic import Topic
from llm_fleet.rules.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the account says."""

    detail: str
    """For the table: the numbers that were compared."""
    problems: Sequence[Problem] = ()


Ask = Callable[[Account], Answer]
"""Asks, and judges; raises `AwsRefusal` where AWS may or will not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One line of the table."""

    topic: Topic
    what: str
    """What is checked, in words."""
    answer: Ask


class Verdict(StrEnum):
    """What came of a question."""

    GOOD = "good"
    PROBLEM = "problem"
    NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A question that was asked."""

    question: Question
    verdict: Verdict
    detail: str
    problems: Sequence[Problem] = ()
    action: str = ""
    """Of one that was not asked: the IAM action that was refused."""
