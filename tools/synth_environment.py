"""Makes `cdk`, `python app.py` and the tests see the same Node and the same feature flags."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from llm_fleet_stacks.synth import node_of_environment as project_node
from llm_fleet_stacks.synth import use_node_of_environment as use_project_node

__all__ = ["ROOT", "cdk_context", "project_node", "use_project_node"]

ROOT = Path(__file__).parent.parent


@cache
def cdk_context() -> dict[str, Any]:
    """Return the context of cdk.json: only the CDK CLI hands it to an app by itself."""
    return json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
