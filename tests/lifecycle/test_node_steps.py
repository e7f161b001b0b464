"""What synth knows of the steps is what their files say."""

import json
import os

from llm_fleet.catalog.nodes import node_steps
from tools import make_node_steps


def test_generated_list_of_steps_is_that_of_the_step_files() -> None:
    made = make_node_steps.text()
    if os.environ.get("UPDATE_GOLDEN"):
        make_node_steps.PLACE.write_text(made, encoding="utf-8")
    assert make_node_steps.PLACE.read_text(encoding="utf-8") == made, "steps have changed: run `make golden`"


def test_the_catalog_reads_every_step_with_all_that_is_told_of_it() -> None:
    told = json.loads(make_node_steps.PLACE.read_text(encoding="utf-8"))["facts"]
    read = {
        name: {
            "summary": step.summary,
            "roles": list(step.roles),
            "hooks": list(step.hooks),
            "needs": list(step.needs),
        }
        for name, step in node_steps().items()
    }
    assert read == told
