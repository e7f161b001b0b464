"""What a service is in a template is what it was: ids, defaults, the order in which CloudFormation makes it.

A changed logical id replaces a load balancer, and with it the name that clients know, for everyone who deploys the next
release. `make golden` writes the file anew; the difference is then read in the commit.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk.assertions import Template

from examples import strangers_inference
from tests.conftest import ENVIRONMENT

GOLDEN = Path(__file__).parent / "golden" / "strangers-inference.json"
# Hashes of what a Lambda function holds; the files themselves have tests of their own.
HASH = re.compile(r"\b[0-9a-f]{64}\b")
LONG = 1000
"""Characters from which a text is a program or a picture, which have tests of their own."""


def test_template_of_a_service_is_unchanged(app: cdk.App):
    stack = strangers_inference.ProductStack(app, "Product", env=ENVIRONMENT)
    template = Template.from_stack(stack).to_json()
    own = {section: _of_service(template[section]) for section in ("Resources", "Outputs")}
    text = HASH.sub("<hash>", json.dumps(_short(own), indent=1)) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "the template has changed: read the difference, then run `make golden`"


def _of_service(section: dict[str, Any]) -> dict[str, Any]:
    return {name: body for name, body in section.items() if name.startswith("Chat")}


def _short(value: Any) -> Any:
    """Return `value` with its long texts cut."""
    if isinstance(value, str):
        return value if len(value) < LONG else f"{value[:80]}<and so on>"
    if isinstance(value, list):
        return [_short(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value
