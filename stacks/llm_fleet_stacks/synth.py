"""Synthesizes a fleet file: for `cdk`, through app.py, and for commands, which import no CDK, as a process.

python -m llm_fleet_stacks.synth --fleet fleet.yaml --out cdk.out
"""

import argparse
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aws_cdk as cdk


def make(app: "cdk.App", file: str | Path) -> int:
    """Make the stacks of the fleet file `file` in `app` and synthesize them; return the exit code.

    What is wrong with the fleet is printed to standard error, and is 1.
    """
    from llm_fleet.config.load import load_fleet
    from llm_fleet.rules.problem import FleetError
    from llm_fleet_stacks.fleet_stacks import FleetStacks

    try:
        FleetStacks.make(app, load_fleet(file), account=os.environ.get("CDK_DEFAULT_ACCOUNT"))
    except FleetError as error:
        print(error, file=sys.stderr)
        return 1
    app.synth()
    return 0


def quicken() -> None:
    """Leave garbage be: a synth allocates much, frees little and ends soon, and looking costs a tenth of its time."""
    gc.disable()


def main() -> int:
    """Synthesize as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m llm_fleet_stacks.synth", description="Synthesize a fleet file.")
    parser.add_argument("--fleet", required=True, type=Path, metavar="FILE")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    from llm_fleet_stacks.app_context import app_context
    from llm_fleet_stacks.jsii_node import use_node_of_environment

    use_node_of_environment()
    quicken()
    import aws_cdk as cdk

    try:
        context = app_context(arguments.fleet.resolve().parent) or app_context(Path.cwd())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return make(cdk.App(context=context, outdir=str(arguments.out)), arguments.fleet)


if __name__ == "__main__":
    sys.exit(main())
