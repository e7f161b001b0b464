"""The templates of every example are what they were: construct ids and defaults are API. So is its picture.

`make golden` writes them anew; the difference is then read in the commit.
"""

import json
import os
import re
from pathlib import Path

import aws_cdk as cdk
import pytest

from llm_fleet.cli.plan.picture.drawing import picture_of
from llm_fleet.config.load import load_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tools.synth_environment import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
GOLDEN = Path(__file__).parent / "golden"
PICTURES = ROOT / "docs" / "pictures"
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
    assert _kept_picture(example, app) == picture_of(Path(app.outdir)), "the picture has changed: run `make golden`"


def _kept_picture(example: Path, app: cdk.App) -> str:
    """Return the picture of `example` in the docs, drawn anew if that is asked for. It needs no synth of its own."""
    kept = PICTURES / f"{example.stem}.svg"
    if os.environ.get("UPDATE_GOLDEN"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(picture_of(Path(app.outdir)), encoding="utf-8")
    return kept.read_text(encoding="utf-8")


def _text(template: object) -> str:
    return HASH.sub("<hash>", json.dumps(template, indent=1)) + "\n"
