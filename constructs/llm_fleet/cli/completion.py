"""`llm-fleet completion`: a script with which the shell completes commands and options."""

import argparse
from collections.abc import Callable

from llm_fleet.cli.verbs import Verbs

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
