"""How a verb joins the command: where it adds itself, checks of its options, the completion of shells."""

import argparse
from collections.abc import Callable
from typing import Protocol

from llm_fleet.rules.problem import FleetError


class Verbs(Protocol):
    """What argparse's `add_subparsers` returns: its own class for that is private."""

    def add_parser(self, name: str, *, help: str) -> argparse.ArgumentParser:
        """Return a parser for the command `name`."""
        ...


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


_SHELLS = ("bash", "zsh", "tcsh")


def add_to(verbs: Verbs, parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command to the command line, whose whole `parser` it completes."""
    verb = verbs.add_parser("completion", help="print a script that completes commands and options in your shell")
    verb.add_argument("shell", choices=_SHELLS, help='e.g. bash: `eval "$(llm-fleet completion bash)"`')

    def run(arguments: argparse.Namespace) -> int:
        import shtab

        print(shtab.complete(parser(), shell=arguments.shell))
        return 0

    verb.set_defaults(run=run)
