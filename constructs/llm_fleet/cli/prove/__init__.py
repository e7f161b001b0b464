"""The command `llm-fleet prove`."""

import argparse
from pathlib import Path

from llm_fleet.cli.place import add_file, file_of
from llm_fleet.cli.verb import Verbs, add_verb


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "prove",
        help="test in your AWS account, at no cost, the assumptions about AWS that a fleet depends on",
        examples=("prove --list", "prove -f fleet.yaml --yes"),
    )
    add_file(verb, argument=True)
    verb.add_argument("--only", action="append", default=[], metavar="ID", help="only this assumption; repeatable")
    verb.add_argument("--yes", action="store_true", help="start without a question")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.add_argument(
        "--show-account", action="store_true", help="write account ids into the report (default: they are masked)"
    )
    action = verb.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="list the assumptions and their experiments; calls no AWS")
    action.add_argument("--clean", action="store_true", help="remove what interrupted runs of this fleet file left")
    action.add_argument(
        "--compare",
        type=Path,
        nargs=2,
        metavar="REPORT",
        help="show the differences between two reports, e.g. of two Regions or versions",
    )
    verb.set_defaults(run=prove)


def prove(arguments: argparse.Namespace) -> int:
    """Run the experiments, list them, remove what a run left, or compare reports."""
    if arguments.compare:
        from llm_fleet.cli.prove.listing import print_differences

        return print_differences(*arguments.compare, as_json=arguments.json)
    path = file_of(arguments)
    if arguments.clean:
        from llm_fleet.cli.prove.proving import clean

        return clean(path)
    from llm_fleet.cli.prove.proving import list_claims, run_experiments

    if arguments.list:
        return list_claims(path, only=arguments.only, as_json=arguments.json)
    return run_experiments(
        path, only=arguments.only, yes=arguments.yes, as_json=arguments.json, show_account=arguments.show_account
    )
