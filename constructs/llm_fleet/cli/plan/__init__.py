"""The command `llm-fleet plan`."""

import argparse
from pathlib import Path

from llm_fleet.cli.place import add_file, file_of
from llm_fleet.cli.verb import Verbs, add_verb


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "plan",
        help="show the resources of a fleet file, their cost, and what a deployment would change",
        examples=("plan", "plan -f fleet.yaml --no-aws --picture fleet.svg"),
    )
    add_file(verb, argument=True)
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.add_argument(
        "--assembly", type=Path, metavar="CDK_OUT", help="output directory of `cdk synth` (default: synthesize now)"
    )
    verb.add_argument(
        "--no-synth",
        action="store_true",
        help="leave out what needs a synthesis: retained resources and the difference",
    )
    asking = verb.add_mutually_exclusive_group()
    asking.add_argument(
        "--deployed", action="store_true", help="compare with the deployed stacks (default: if there are credentials)"
    )
    asking.add_argument("--no-aws", action="store_true", help="do not call AWS")
    verb.add_argument("--picture", type=Path, metavar="OUT.svg", help="draw the architecture")
    verb.add_argument(
        "--prices", type=Path, metavar="FILE", help="price table to use, in the form that --refresh-prices writes"
    )
    verb.add_argument(
        "--refresh-prices", action="store_true", help="get this fleet's prices from the AWS Price List, and store them"
    )
    verb.add_argument("--force", action="store_true", help="overwrite OUT.svg")
    verb.set_defaults(run=plan, usage=verb.error)


def plan(arguments: argparse.Namespace) -> int:
    """Print the plan. Raises `FleetError` with the errors of the fleet file or of its synthesis."""
    from llm_fleet.cli.plan.whole_plan import refuse_without_synth, whole_plan
    from llm_fleet.cli.verb import usage_words
    from llm_fleet.rules.problem import FleetError

    try:
        refuse_without_synth(arguments)
    except FleetError as error:
        arguments.usage(usage_words(error))
    arguments.file = file_of(arguments)
    return whole_plan(arguments)
