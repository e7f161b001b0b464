"""`check`: what can be said against a start of `train`, without starting it."""

from __future__ import annotations

import argparse
import sys

from llm_fleet_training import arguments as options
from llm_fleet_training.failures import FINAL, leave_word
from llm_fleet_training.training.preflight import problems

SUMMARY = "look whether a training could start, and tell all that is against it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of `train`, and how many processes there would be."""
    options.add(parser)
    parser.add_argument(
        "--processes", type=int, default=options.processes(), metavar="N", help="nodes x processes per node"
    )


def run(arguments: argparse.Namespace) -> int:
    """0 when nothing is known against it, 3 otherwise."""
    found = problems(options.settings(arguments), arguments.processes)
    for failure in found:
        print(failure, file=sys.stderr)
    if not found:
        print(f"nothing is known against a start with {arguments.processes} processes")
        return 0
    leave_word(found[-1])
    return FINAL
