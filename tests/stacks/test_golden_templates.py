"""The templates of every example are what they were: construct ids and defaults are API.

`make golden` writes them anew; the difference is then read in the commit.
"""

import json
import os
import re
from pathlib import Path

import aws_cdk as cdk
import pytest

from llm_fleet.config.load import load_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tools.synth_environment import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
GOLDEN = Path(__file__).parent / "golden"
# Hashes of what a node script or a handler holds; the files themselves have tests of their own.
HASH = re.compile(r"\b[0-9a-f]{64}\b")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_golden_templates_are_unchanged(app: cdk.App, example: Path):
    FleetStacks.make(app, load_fleet(example), account="111122223333")
    made = {stack.stack_name: _text(stack.template) for stack in app.synth().stacks}
    folder = GOLDEN / example.stem
    if os.environ.get("UPDATE_GOLDEN"):
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.json"):
            path.unlink()
        for name, text in made.items():
            (folder / f"{name}.json").write_text(text)
    golden = {path.stem: path.read_text() for path in folder.glob("*.json")}
    assert made == golden, "the templates have changed: read the difference, then run `make golden`"


def _text(template: object) -> str:
    return HASH.sub("<hash>", json.dumps(template, indent=1)) + "\n"
