#!/usr/bin/env python3
"""The app that `cdk` runs: reads one fleet file and makes the stacks that it asks for.

The file is `fleet.yaml`, unless `--context fleet=FILE` or the variable `LLM_FLEET_FILE` names another.
"""

import gc
import os
import sys

from tools.synth_environment import cdk_context, use_project_node

use_project_node()
# A synth allocates much, frees little and ends soon: looking for garbage costs it a tenth of its time.
gc.disable()

import aws_cdk as cdk

from llm_fleet.config.load import load_fleet
from llm_fleet.rules.problem import FleetError
from llm_fleet_stacks.fleet_stacks import FleetStacks


def main() -> int:
    """Synthesize; return the exit code."""
    app = cdk.App(context=cdk_context())
    file = app.node.try_get_context("fleet") or os.environ.get("LLM_FLEET_FILE") or "fleet.yaml"
    try:
        FleetStacks.make(app, load_fleet(file), account=os.environ.get("CDK_DEFAULT_ACCOUNT"))
    except FleetError as error:
        print(error, file=sys.stderr)
        return 1
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
