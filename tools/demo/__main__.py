"""Deploys a fleet to the AWS emulator and lists the resources; `stop` ends the AWS emulator."""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.rules.problem import FleetError
from local.aws.client import LocalAws
from tools.demo import aws_emulator
from tools.demo.cdk_cli import CdkCli, CdkFailed
from tools.demo.cdk_output import AllOutput, Progress
from tools.demo.farewell import farewell
from tools.demo.inventory import Inventory
from tools.demo.what_the_user_brings import WhatTheUserBrings


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.demo", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="deploy a fleet file")
    up.add_argument("fleet", type=Path)
    up.add_argument("--verbose", action="store_true", help="show the output of the CDK CLI, all nodes and all files")
    verbs.add_parser("stop", help="stop the AWS emulator")
    arguments = parser.parse_args()
    console = Console()
    if arguments.verb == "stop":
        console.print("AWS emulator stopped" if aws_emulator.stop() else "no AWS emulator is running")
        return 0
    return _up(arguments.fleet, console, verbose=arguments.verbose)


def _up(fleet_file: Path, console: Console, *, verbose: bool) -> int:
    try:
        fleet = load_fleet(fleet_file)
    except FleetError as error:
        console.print(str(error), markup=False, highlight=False)
        return 1
    server = aws_emulator.find_or_start(console)
    output = AllOutput() if verbose else Progress(console)
    cli = CdkCli(endpoint=server.endpoint, region=fleet.region, fleet_file=fleet_file, console=console, output=output)
    brought = WhatTheUserBrings(
        fleet, client=LocalAws(endpoint=server.endpoint, region=fleet.region).client, console=console
    )
    try:
        cli.bootstrap()
        if brought.needs_storage_first:
            cli.deploy(f"{fleet.name}-storage")
        if fleet.services:
            console.rule("existing resources that the fleet needs", align="left")
            brought.lay()
        cli.deploy("--all")
    except CdkFailed as failure:
        console.print(f"[red]{failure}[/red] — the AWS emulator's log: {server.log}")
        return 1
    Inventory(endpoint=server.endpoint, region=fleet.region, console=console, verbose=verbose).show()
    farewell(console, fleet_file=fleet_file, endpoint=server.endpoint, region=fleet.region, look=_look(fleet))
    return 0


def _look(fleet: Fleet) -> str:
    """Return the AWS CLI command that shows most of `fleet`."""
    if any(cluster.kind == "hyperpod" for cluster in fleet.clusters.values()):
        return "sagemaker list-clusters"
    for service in fleet.services.values():
        name = service.name_in(fleet.name)
        return f"ecs describe-services --cluster {name} --services {name}"
    return "cloudformation describe-stacks --output table"


if __name__ == "__main__":
    sys.exit(main())
