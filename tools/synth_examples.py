"""Synthesizes examples in this process. The CDK, and the Node that it starts, are loaded only when this is done."""

import json
from pathlib import Path
from typing import Any

from tools.synth_environment import ROOT, cdk_context

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
ACCOUNT = "111122223333"


def synth_example(name: str, folder: Path) -> Path:
    """Write the cloud assembly of example `name` to `folder`, and return it."""
    import aws_cdk as cdk

    from llm_fleet.fleet_file.load import load_fleet
    from llm_fleet_stacks.fleet_stacks import FleetStacks

    app = cdk.App(context=cdk_context(), outdir=str(folder))
    FleetStacks.make(app, load_fleet(ROOT / "examples" / f"{name}.yaml"), account=ACCOUNT)
    return Path(app.synth().directory)


def templates_in(folder: Path) -> dict[str, Any]:
    """Return the templates of the cloud assembly in `folder` by the names of their stacks."""
    return {
        path.name.removesuffix(".template.json"): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.template.json"))
    }
