"""Contents of a page in `docs/`: generated parts, tables and examples."""

import os
import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk

from tools.synth_environment import ROOT

CONSTRUCTS = ROOT / "docs" / "constructs"


def check_made(page: Path, **parts: str) -> None:
    """Compare the parts of `page` between their markers with the output of the code; `make golden` updates them."""
    text = page.read_text(encoding="utf-8")
    for name, made in parts.items():
        start, end = f"<!-- generated: {name.replace('_', ' ')} -->\n", "<!-- end of generated -->"
        marked = re.compile(f"({start}).*?({end})", re.DOTALL)
        text, count = marked.subn(lambda found, made=made: f"{found[1]}\n{made}\n\n{found[2]}", text)
        assert count == 1, name
    if os.environ.get("UPDATE_GOLDEN"):
        page.write_text(text, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == text, "the code has changed: run `make golden`"


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the rows of the table below `heading`, without the header."""
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def table(page: str, heading: str) -> dict[str, list[str]]:
    """Return the rows of the table below `heading` by their first cell."""
    return {cells[0]: cells[1:] for cells in rows(page, heading)}


def examples(page: str, language: str = "python") -> list[str]:
    """Return the code blocks in `language`."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def run_examples(
    page: str, scope: cdk.Stack | None = None, *, number: int | None = None, **names: Any
) -> dict[str, Any]:
    """Run the Python of `page`, or its first `number` blocks, in `scope`, which it calls `self`; return its names."""
    names["self"] = scope
    exec(compile("\n".join(examples(page)[:number]), "the page", "exec"), names)
    return names
