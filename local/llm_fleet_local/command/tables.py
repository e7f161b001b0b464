"""The format of the demo's tables."""

from rich import box
from rich.table import Table


def table(title: str | None, *headings: str) -> Table:
    """Return a table. A narrow terminal wraps names and does not truncate them, so that they can be copied."""
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for heading in headings:
        made.add_column(heading, overflow="fold")
    return made
