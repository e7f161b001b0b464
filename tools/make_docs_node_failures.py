"""Writes docs/node-failures.md: the list of what nodes may fail with, from the titles of its pages."""

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
    reported = (
        "A node that was not verified ends with one of these codes, and never green. Each has a page with the remedy.\n"
    )
    return f"# Failures of nodes\n\n{GENERATED}\n{reported}\n{table(('code', 'what it is'), rows)}"


if __name__ == "__main__":
    PLACE.write_text(page(), encoding="utf-8")
