#!/usr/bin/env python3
"""The app that `cdk` runs: reads one fleet file and creates its stacks.

The file is `fleet.yaml`, unless `--context fleet=FILE` or the variable `LLM_FLEET_FILE` sets another.
"""

import os
import sys

from llm_fleet_stacks.synth import make, quicken
from tools.synth_environment import cdk_context, use_project_node

use_project_node()
quicken()

import aws_cdk as cdk


def main() -> int:
    """Synthesize; return the exit code."""
    app = cdk.App(context=cdk_context())
    return make(app, app.node.try_get_context("fleet") or os.environ.get("LLM_FLEET_FILE") or "fleet.yaml")


if __name__ == "__main__":
    sys.exit(main())
