"""Writes constructs/llm_fleet/catalog/data/node_steps.json from the step files themselves."""

import json
import sys
from typing import Any

from tools.synth_environment import ROOT

PLACE = ROOT / "constructs" / "llm_fleet" / "catalog" / "data" / "node_steps.json"
_SCRIPTS = ROOT / "lifecycle_scripts"


def text() -> str:
    """Return the text of the file."""
    if str(_SCRIPTS) not in sys.path:
        sys.path.insert(0, str(_SCRIPTS))
    from llm_fleet_node.steps import every_step

    facts: dict[str, Any] = {
        step.name: {
            "summary": step.summary,
            "roles": sorted(step.roles),
            "hooks": sorted(step.hooks),
            "needs": list(step.needs),
        }
        for step in every_step().values()
    }
    document = {
        "what": "steps of nodes: roles, order",
        "source": "lifecycle_scripts/llm_fleet_node/steps, by tools/make_node_steps.py (`make golden`)",
        "checked": None,
        "facts": facts,
    }
    return json.dumps(document, indent=2) + "\n"


if __name__ == "__main__":
    PLACE.write_text(text(), encoding="utf-8")
