"""Pieces of Markdown that the generated pages are made of."""

from collections.abc import Iterable, Sequence

GENERATED = "This page is generated (`make golden`) and checked by a test.\n"


def cell(text: str) -> str:
    """Return `text` as it may stand in a cell of a table: one line, with its bars escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return `text` as code; nothing stays nothing."""
    return f"`{' '.join(text.split())}`" if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. Its cells are escaped here."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell(one) for one in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
