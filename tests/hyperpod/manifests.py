"""The node manifest of a synthesized cluster."""

import json
from typing import Any

import aws_cdk as cdk
from aws_cdk.assertions import Template


def written_manifest(stack: cdk.Stack) -> dict[str, Any]:
    """Return the manifest of the stack's only bundle; CDK tokens are shown as `<…>`."""
    (bundle,) = Template.from_stack(stack).find_resources("Custom::LlmFleetBundle").values()
    return json.loads(_text(bundle["Properties"]["Manifest"]))


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case {"Fn::Join": [str(delimiter), parts]}:
            return delimiter.join(map(_text, parts))
        case _:
            (name,) = value
            inner = value[name]
            return f"<{inner if isinstance(inner, str) else '.'.join(map(str, inner))}>"
