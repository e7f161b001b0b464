"""`check`: reports all errors that would prevent a start of `train`, without starting it."""

from __future__ import annotations

import argparse
import sys

from llm_fleet_training import arguments as options
from llm_fleet_training.failures import FINAL, leave_word
from llm_fleet_training.training.preflight import problems

SUMMARY = "check whether a training can start, and print all errors"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `train`, and the number of processes."""
    options.add(parser)
    parser.add_argument(
        "--processes",
        type=int,
        default=options.processes(),
        metavar="N",
        help="number of processes: nodes x processes per node",
    )


def run(arguments: argparse.Namespace) -> int:
    """0 when no errors are found, otherwise 3."""
    found = problems(options.settings(arguments), arguments.processes)
    for failure in found:
        print(failure, file=sys.stderr)
    if not found:
        print(f"no errors found for a start with {arguments.processes} processes")
        return 0
    leave_word(found[-1])
    return FINAL
