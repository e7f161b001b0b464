"""The command `llm-fleet new`."""

import argparse
from pathlib import Path

from llm_fleet.cli.new.kinds import DEFAULT_KIND, KINDS
from llm_fleet.cli.verb import Verbs, add_verb


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "new",
        help="write a new project: fleet file, CDK app, tests and CI; needs no AWS account",
        examples=("new my-fleet", "new my-fleet --kind inference --region us-east-1 --yes"),
    )
    verb.add_argument("directory", type=Path, metavar="DIR", help="directory to create; it must be empty or not exist")
    verb.add_argument("--kind", choices=list(KINDS), help=f"what the fleet contains (default: {DEFAULT_KIND})")
    verb.add_argument("--region", help="AWS Region (default: us-west-2)")
    verb.add_argument(
        "--instance-type", metavar="TYPE", help="instance type of the nodes (default: depends on the kind)"
    )
    verb.add_argument("--count", type=int, help="number of nodes, or maximum number of a queue")
    verb.add_argument("--name", help="name of the fleet (default: the name of DIR)")
    verb.add_argument("--yes", action="store_true", help="ask no questions: use the options and defaults")
    verb.set_defaults(run=new)


def new(arguments: argparse.Namespace) -> int:
    """Write the project. Raises `FleetError` with the problems of the options, before anything is written."""
    from llm_fleet.cli.new.write_project import write_project

    return write_project(arguments)
