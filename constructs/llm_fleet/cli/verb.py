"""What every command shares: parser, help with examples, exit codes, errors, checks of options, shell completion."""

import argparse
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any, NoReturn, Protocol

from llm_fleet.rules.problem import AnyCode, FleetError, Problem


class ExitCode(IntEnum):
    """Exit code of a command."""

    FINE = 0
    """Done, without problems."""
    PROBLEMS = 1
    """There are problems, which are printed."""
    USAGE = 2
    """The command line is wrong."""
    NOT_CHECKED = 3
    """A call to AWS failed: credentials, a denied call, throttling, the network."""
    NOT_UNDERSTOOD = 4
    """Done, but `import` has left out unknown keys, which it prints: they may be misspelled."""
    INTERRUPTED = 130
    """Ctrl-C."""


def refuse(code: AnyCode, message: str, remedy: str, *, subject: str = "", value: object = None) -> NoReturn:
    """Raise one problem as `FleetError`."""
    raise FleetError([Problem(code=code, message=message, remedy=remedy, value=value)], subject=subject) from None


def is_of_aws(error: Exception) -> bool:
    """Return whether `error` is of AWS or boto3. Compares names: boto3 need not be installed."""
    return type(error).__module__.partition(".")[0] in ("botocore", "boto3")


class CommandLine(argparse.ArgumentParser):
    """A parser that suggests a command, value or option for a misspelled one. Its subparsers are of this class, too."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the parsed arguments and the unknown ones. Exits if an unknown option is similar to a known one."""
        parsed, unknown = super().parse_known_args(args, namespace)
        for word in unknown:
            name = word.partition("=")[0]
            near = _nearest(name, self._option_string_actions) if name.startswith("--") else None
            if near is not None:
                self.error(f"unknown option `{name}`: did you mean `{near}`?")
        return parsed, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = action.choices
        if choices is None or value in choices:
            return
        kind = "command" if action.dest == argparse.SUPPRESS else "value"
        known = [str(choice) for choice in choices]
        near = _nearest(str(value), known)
        remedy = f"did you mean `{near}`?" if near else f"choose one of {', '.join(known)}"
        raise argparse.ArgumentError(action, f"unknown {kind} `{value}`: {remedy}")


def _nearest(word: str, known: Iterable[str]) -> str | None:
    from llm_fleet.rules.values import nearest  # It imports the catalog, which `--help` does not need.

    return nearest(word, known)


class Verbs(Protocol):
    """The result of argparse's `add_subparsers`, whose class is private."""

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
    """Return a `type` of argparse that returns the text unchanged if `read` does not raise `FleetError`."""

    def text_of(text: str) -> str:
        try:
            read(text)
        except FleetError as error:
            raise argparse.ArgumentTypeError(f"`{text}`: {usage_words(error)}") from error
        return text

    return text_of


def usage_words(error: FleetError) -> str:
    """Return the first problem on one line, for argparse's usage errors."""
    problem = error.problems[0]
    return f"{problem.message}; {problem.remedy} [{problem.code}]"


_SHELLS = ("bash", "zsh", "tcsh")


def add_completion_to(verbs: Verbs, parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command `completion`. `parser` returns the whole command line."""
    verb = add_verb(
        verbs,
        "completion",
        help="print a script that completes commands and options in your shell",
        examples=("completion bash", "completion zsh"),
    )
    verb.add_argument("shell", choices=_SHELLS, help='your shell; e.g. for bash: `eval "$(llm-fleet completion bash)"`')

    def run(arguments: argparse.Namespace) -> int:
        import shtab

        print(shtab.complete(parser(), shell=arguments.shell))
        return 0

    verb.set_defaults(run=run)
