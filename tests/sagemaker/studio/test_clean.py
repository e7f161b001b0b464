"""What a domain synthesizes passes cdk-nag, and stays what it was; other checkers read it in an example."""

import json
import os
import re
from pathlib import Path

import aws_cdk as cdk

from tests.clean import nag_findings
from tests.sagemaker.studio.conftest import everything

GOLDEN = Path(__file__).parent / "golden" / "studio.json"
HASH = re.compile(r"(?<=jupyterlab-|codeeditor-)[0-9a-f]{8}\b")
"""Of the text of a script, which has tests of its own."""
SCRIPT = re.compile(r'"#!/bin/bash[^\n]*"')


def test_nag_finds_nothing_and_the_golden_template_is_unchanged(app: cdk.App, stack: cdk.Stack):
    """A changed logical id replaces the domain, and with it all spaces of everybody."""
    everything(stack).add_outputs()
    assert nag_findings(app) == []
    template = app.synth().get_stack_by_name(stack.stack_name).template
    own = {
        section: {name: body for name, body in template[section].items() if name.startswith("Studio")}
        for section in ("Resources", "Outputs")
    }
    text = SCRIPT.sub('"<script>"', HASH.sub("<hash>", json.dumps(own, indent=1))) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "the template has changed: read the difference, then run `make golden`"
