"""The tables of codes in the docs page are those of the code."""

import os
import re
from pathlib import Path

import pytest

from llm_fleet.catalog.nodes import node_steps
from llm_fleet.rules.codes import Code
from llm_fleet_node.failures import Code as NodeCode

PAGE = Path(__file__).parents[2] / "docs" / "constructs" / "lifecycle.md"


def _table(head: str, rows: list[str]) -> str:
    return "\n".join([f"| code | {head} |", "|---|---|", *rows])


def _cells(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


STEPS = [
    _cells(f"`{name}`", step.summary, ", ".join(step.roles), ", ".join(f"`{need}`" for need in step.needs))
    for name, step in node_steps().items()
]
TABLES = {
    "steps": "\n".join([_cells("step", "what is so afterwards", "on", "after"), "|---|---|---|---|", *STEPS]),
    "node codes": _table(
        "what to do", [f"| [`{code.code}`](../node-failures/{code.code}.md) | {code.remedy} |" for code in NodeCode]
    ),
    "synth codes": _table(
        "what is refused", [f"| `{code.value}` | {code.title_} |" for code in Code if re.match(r"LF4", code.value)]
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_generated_tables_are_up_to_date(name: str) -> None:
    start, end = f"<!-- generated: {name} -->\n", "<!-- end of generated -->"
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(start)
    after = rest.split(end, 1)[1]
    made = f"{before}{start}\n{TABLES[name]}\n\n{end}{after}"
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made
