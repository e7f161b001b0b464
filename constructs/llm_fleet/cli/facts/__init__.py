"""The command `llm-fleet facts`."""

import argparse
import sys

from llm_fleet.cli.verb import Verbs, add_verb


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "facts",
        help="show the facts about AWS, Slurm and Neuron in this release: source, date, age",
        examples=("facts", "facts --only lustre --only prices/karpenter"),
    )
    verb.add_argument(
        "--only", action="append", metavar="NAME", help="only these facts, with the whole source; repeatable"
    )
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=show)


def show(arguments: argparse.Namespace) -> int:
    """Print the facts, the oldest first."""
    from llm_fleet.cli.facts.ages import as_data, as_text, facts_named
    from llm_fleet.cli.screen import Screen, print_json

    found = facts_named(arguments.only)
    if arguments.json:
        print_json(as_data(found, arguments.today))
    else:
        sys.stdout.write(as_text(found, arguments.today, Screen.of_output(), whole_source=bool(arguments.only)))
    return 0
