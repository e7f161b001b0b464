"""What every command shares: help with examples, exit codes, errors, checks of options, shell completion."""

import argparse
from collections.abc import Callable
from enum import IntEnum
from typing import NoReturn, Protocol

from llm_fleet.rules.problem import AnyCode, FleetError, Problem


class ExitCode(IntEnum):
    """How a command ended."""

    FINE = 0
    """Done, and nothing is wrong."""
    PROBLEMS = 1
    """Something is wrong; it is told."""
    USAGE = 2
    """The command line itself is wrong."""
    NOT_CHECKED = 3
    """AWS could not be asked, or not of everything: credentials, a denied call, throttling, the network."""
    NOT_UNDERSTOOD = 4
    """Done, without keys that were not understood: `import` names each, which may be misspelled."""
    INTERRUPTED = 130
    """Ctrl-C."""


def refuse(code: AnyCode, message: str, remedy: str, *, subject: str = "", value: object = None) -> NoReturn:
    """Raise one problem as `FleetError`."""
    raise FleetError([Problem(code=code, message=message, remedy=remedy, value=value)], subject=subject) from None


def is_of_aws(error: Exception) -> bool:
    """Return whether AWS, or boto3 on the way to it, refuses. Known by name: boto3 need not be installed."""
    return type(error).__module__.partition(".")[0] in ("botocore", "boto3")


class Verbs(Protocol):
    """What argparse's `add_subparsers` returns: its own class for that is private."""

    def add_parser(
        self,
        name: str,
        *,
        help: str,
        description: str,
        epilog: str,
        formatter_class: type[argparse.HelpFormatter],
    ) -> argparse.ArgumentParser:
        """Return a parser for the command `name`."""
        ...


def add_verb(verbs: Verbs, name: str, *, help: str, examples: tuple[str, str]) -> argparse.ArgumentParser:
    """Add the command `name`. Its `--help` ends with `examples`, each without `llm-fleet` at its beginning."""
    return verbs.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog="\n".join(("examples:", *(f"  llm-fleet {example}" for example in examples))),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


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


def add_completion_to(verbs: Verbs, parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command to the command line, whose whole `parser` it completes."""
    verb = add_verb(
        verbs,
        "completion",
        help="print a script that completes commands and options in your shell",
        examples=("completion bash", "completion zsh"),
    )
    verb.add_argument("shell", choices=_SHELLS, help='e.g. bash: `eval "$(llm-fleet completion bash)"`')

    def run(arguments: argparse.Namespace) -> int:
        import shtab

        print(shtab.complete(parser(), shell=arguments.shell))
        return 0

    verb.set_defaults(run=run)
