"""`llm-fleet plan`: what it is given, and what it does."""

import argparse
from pathlib import Path

from llm_fleet.cli.verb import Verbs


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = verbs.add_parser("plan", help="tell what would be built, what it costs, and what a deployment would change")
    verb.add_argument(
        "file", metavar="FLEET", nargs="?", type=Path, default=Path("fleet.yaml"), help="default: fleet.yaml"
    )
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.add_argument(
        "--assembly", type=Path, metavar="CDK_OUT", help="what `cdk synth` wrote (default: it is synthesized)"
    )
    verb.add_argument(
        "--no-synth", action="store_true", help="leave out what only a synthesis knows: what is kept, the difference"
    )
    asking = verb.add_mutually_exclusive_group()
    asking.add_argument(
        "--deployed", action="store_true", help="compare with what is deployed (default: if there are credentials)"
    )
    asking.add_argument("--no-aws", action="store_true", help="ask AWS nothing")
    verb.add_argument("--picture", type=Path, metavar="OUT.svg", help="draw the architecture")
    verb.add_argument(
        "--prices", type=Path, metavar="FILE", help="a price table of your own, as --refresh-prices writes"
    )
    verb.add_argument(
        "--refresh-prices", action="store_true", help="ask AWS's Price List for what this fleet needs, and keep it"
    )
    verb.add_argument("--force", action="store_true", help="write over OUT.svg")
    verb.set_defaults(run=plan, usage=verb.error)


def plan(arguments: argparse.Namespace) -> int:
    """Print the plan. Raises `FleetError` with what is wrong with the fleet, or with its synthesis."""
    from llm_fleet.cli.plan.whole_plan import refuse_without_synth, whole_plan
    from llm_fleet.cli.verb import usage_words
    from llm_fleet.rules.problem import FleetError

    try:
        refuse_without_synth(arguments)
    except FleetError as error:
        arguments.usage(usage_words(error))
    return whole_plan(arguments)
