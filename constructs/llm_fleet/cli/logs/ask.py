"""Asks AWS one thing of several: what it refuses is kept, and keeps nothing else out."""

from collections.abc import Callable
from typing import TypeVar

from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.rules.problem import Problem

Answer = TypeVar("Answer")


def ask(problems: list[Problem], question: Callable[[], Answer], otherwise: Answer) -> Answer:
    """Return the answer; where AWS refuses it, add why to `problems` and return `otherwise`."""
    try:
        return question()
    except AwsRefusal as refused:
        problems += [one for one in refused.problems if one not in problems]
        return otherwise
