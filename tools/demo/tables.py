"""How the demo's tables look."""

from rich import box
from rich.table import Table


def table(title: str | None, *headings: str) -> Table:
    """Return a table. A narrow terminal breaks names into lines rather than cutting them off: they are to be copied."""
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
