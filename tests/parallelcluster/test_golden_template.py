"""What a cluster is in a template is what it was: ids, defaults and, above all, its hash.

A changed hash makes a new cluster for everyone who deploys the next release. `make golden` writes the file anew; the
difference is then read in the commit.
"""

import json
import os
import re
from pathlib import Path

import aws_cdk as cdk
from aws_cdk.assertions import Template

from examples import strangers_parallelcluster
from tests.conftest import ENVIRONMENT

GOLDEN = Path(__file__).parent / "golden" / "strangers-parallelcluster.json"
# Hashes of what a node script holds; the files themselves have tests of their own.
HASH = re.compile(r"\b[0-9a-f]{64}\b")


def test_template_of_a_cluster_is_unchanged(app: cdk.App):
    stack = strangers_parallelcluster.ResearchStack(app, "Research", env=ENVIRONMENT)
    template = Template.from_stack(stack).to_json()
    own = {section: _of_cluster(template[section]) for section in ("Resources", "Outputs")}
    text = HASH.sub("<hash>", json.dumps(own, indent=1)) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "the template has changed: read the difference, then run `make golden`"


def _of_cluster(section: dict[str, object]) -> dict[str, object]:
    return {name: body for name, body in section.items() if name.startswith("Train")}
