"""The tables of codes in the docs page are those of the code."""

import re

from llm_fleet.catalog.nodes import node_steps
from llm_fleet.rules.codes import Code
from llm_fleet_node.failures import Code as NodeCode
from tests.pages import CONSTRUCTS, check_made


def _table(head: str, rows: list[str]) -> str:
    return "\n".join([f"| code | {head} |", "|---|---|", *rows])


def _cells(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


STEPS = [
    _cells(f"`{name}`", step.summary, ", ".join(step.roles), ", ".join(f"`{need}`" for need in step.needs))
    for name, step in node_steps().items()
]
TABLES = {
    "steps": "\n".join([_cells("step", "result", "roles", "runs after"), "|---|---|---|---|", *STEPS]),
    "node_codes": _table(
        "remedy", [f"| [`{code.code}`](../node-failures/{code.code}.md) | {code.remedy} |" for code in NodeCode]
    ),
    "synth_codes": _table(
        "error", [f"| `{code.value}` | {code.title_} |" for code in Code if re.match(r"LF4", code.value)]
    ),
}


def test_generated_tables_are_up_to_date() -> None:
    check_made(CONSTRUCTS / "lifecycle.md", **TABLES)
