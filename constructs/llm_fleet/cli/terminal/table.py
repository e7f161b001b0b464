"""A table for a terminal of any width."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from llm_fleet.cli.terminal.screen import Screen, Tone, Toned, plain_text

_GAP = 2
_LEAST = 24
"""Columns that text needs in order to be readable when it is wrapped."""

Cell = str | int | float | Toned | None
"""What stands in a table; `None` is shown as a dash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column."""

    key: str
    """Its cells' key in a row."""
    title: str
    right: bool = False
    """Whether it holds numbers, which line up on the right."""
    wraps: bool = False
    """Whether its text may go on below; at most one column's may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows by the keys of columns. A column without any value is left out."""

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]

    def text(self, screen: Screen) -> str:
        """Return the table as `screen` can show it, with a line break at its end; empty when there is no row.

        Where the columns do not fit side by side, each row is a block of lines, which rich has no form for.
        """
        cells = [{one.key: _cell(row.get(one.key)) for one in self.columns} for row in self.rows]
        columns = [one for one in self.columns if any(row[one.key] for row in cells)]
        if not columns:
            return ""
        widths = {one.key: max([len(one.title), *(row[one.key].cell_len for row in cells), 1]) for one in columns}
        total = sum(widths.values()) + _GAP * (len(columns) - 1)
        wide = screen.width or total
        for column in columns:
            left = widths[column.key] - (total - wide)
            if total > wide and column.wraps and left >= _LEAST:
                widths[column.key], total = left, wide
        console = Console(
            file=(paper := StringIO()),
            width=wide,
            color_system="standard" if screen.colour else None,
            force_terminal=screen.colour,
            legacy_windows=False,
            _environ={},  # the screen knows whether there are colours
        )
        for part in _blocks(columns, cells) if total > wide else [_grid(columns, cells, widths)]:
            console.print(part, soft_wrap=isinstance(part, Text))
        return "".join(f"{line.rstrip()}\n" for line in paper.getvalue().splitlines())


def _cell(value: Cell) -> Text:
    shown = value if isinstance(value, Toned) else Toned("" if value is None else str(value))
    # As a span: rich gives the style of a whole text to the spaces that fill its column as well.
    return Text.assemble((plain_text(shown.text), shown.tone.value))


def _grid(columns: Sequence[Column], rows: Sequence[Mapping[str, Text]], widths: Mapping[str, int]) -> Grid:
    grid = Grid(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    for one in columns:
        title = Text.assemble((one.title, Tone.STRONG.value), justify="left")
        justify = "right" if one.right else "left"
        grid.add_column(title, justify=justify, width=widths[one.key], no_wrap=not one.wraps, overflow="fold")
    for row in rows:
        grid.add_row(*(row[one.key] or "-" for one in columns))
    return grid


def _blocks(columns: Sequence[Column], rows: Sequence[Mapping[str, Text]]) -> Iterator[Text | Padding]:
    """Yield each row as a heading, its first cell, and a line or more for each further one."""
    first, *others = columns
    for row in rows:
        yield Text(row[first.key].plain or "-", Tone.STRONG.value)
        for column in others:
            if cell := row[column.key]:
                said = Text.assemble(
                    (f"{column.title.lower()}: {cell.plain}", cell.spans[0].style if cell.spans else "")
                )
                yield Padding(said, (0, 0, 0, _GAP))
