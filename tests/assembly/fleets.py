"""Synthesizes fleet files for the checks over whole assemblies."""

from pathlib import Path

import aws_cdk as cdk

from llm_fleet.config.load import parse_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.assembly.assembly import Assembly
from tools.synth_environment import cdk_context

ACCOUNT = "111122223333"


def synthesize(text: str, folder: Path, *, account: str = ACCOUNT) -> Assembly:
    """Synthesize the fleet file `text` into `folder` and read the assembly."""
    app = cdk.App(context=cdk_context(), outdir=str(folder))
    FleetStacks.make(app, parse_fleet(text), account=account)
    app.synth()
    return Assembly.read(folder, account=account)
