"""Makes what reads an option's value a check of argparse: a value that it refuses is wrong usage."""

import argparse
from collections.abc import Callable

from llm_fleet.rules.problem import FleetError


def checked(read: Callable[[str], object]) -> Callable[[str], str]:
    """Return a `type` of argparse that takes the text as it is where `read` does not raise `FleetError`."""

    def text_of(text: str) -> str:
        try:
            read(text)
        except FleetError as error:
            raise argparse.ArgumentTypeError(f"{text!r}: {usage_words(error)}") from error
        return text

    return text_of


def usage_words(error: FleetError) -> str:
    """Return the first problem in one line, as argparse tells of wrong usage."""
    problem = error.problems[0]
    return f"{problem.message}; {problem.remedy} [{problem.code}]"
