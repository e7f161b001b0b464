"""Markdown helpers for the generated pages."""

from collections.abc import Iterable, Sequence

GENERATED = "This page is generated (`make golden`) and checked by a test.\n"


def cell(text: str) -> str:
    """Return `text` for a table cell: one line, with its bars escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return `text` as code; an empty text stays empty."""
    return f"`{' '.join(text.split())}`" if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, with escaped cells."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell(one) for one in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
