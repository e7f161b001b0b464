"""Writes docs/node-failures.md: the list of node failure codes, from the titles of their pages."""

import re

from tools.make_docs_markdown import GENERATED, table
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "node-failures.md"
_PAGES = ROOT / "docs" / "node-failures"


def page() -> str:
    """Return the page."""
    rows = [
        (
            f"[{path.stem}](node-failures/{path.name})",
            path.read_text(encoding="utf-8").splitlines()[0].partition(": ")[2],
        )
        for path in sorted(_PAGES.glob("*.md"), key=lambda path: int(re.sub(r"\D", "", path.stem)))
    ]
    introduction = (
        "A node whose configuration cannot be verified stops with one of these codes. Each code has a page with "
        "symptom, cause and remedy. To list the failures of your nodes:\n\n"
        "```console\n$ llm-fleet logs -f fleet.yaml --failed\n```\n"
    )
    return f"# Node failure codes\n\n{GENERATED}\n{introduction}\n{table(('code', 'failure'), rows)}"


if __name__ == "__main__":
    PLACE.write_text(page(), encoding="utf-8")
