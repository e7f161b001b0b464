"""A table for a terminal of any width.

rich measures, wraps and colors the text; rows are joined here. Its own table renders each cell separately, and takes
2.8 s of CPU time for 2,001 nodes, this one 0.3 s (`llm-fleet nodes`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from llm_fleet.cli.screen import Screen, Tone, Toned, painted, plain_text

_GAP = "  "
_LEAST = 24
"""Smallest width of a column with wrapped text."""

Cell = str | int | float | Toned | None
"""A value of a table; `None` is shown as a dash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column."""

    key: str
    """Key of its cells in a row."""
    title: str
    right: bool = False
    """Whether it has numbers, which are aligned to the right."""
    wraps: bool = False
    """Whether its text may be wrapped, at most in one column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows by the keys of columns. A column without values is left out."""

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]

    def text(self, screen: Screen) -> str:
        """Return the table for `screen`, with a final line break; empty without rows.

        If the columns do not fit side by side, each row is a block of lines.
        """
        cells = [{one.key: _cell(row.get(one.key)) for one in self.columns} for row in self.rows]
        columns = [one for one in self.columns if any(row[one.key].text for row in cells)]
        if not columns:
            return ""
        widths = {one.key: max(len(one.title), 1, *(cell_len(row[one.key].text) for row in cells)) for one in columns}
        total = sum(widths.values()) + len(_GAP) * (len(columns) - 1)
        wide = screen.width or total
        for column in columns:
            left = widths[column.key] - (total - wide)
            if total > wide and column.wraps and left >= _LEAST:
                widths[column.key], total = left, wide
        lines = _blocks(columns, cells, wide) if total > wide else _grid(columns, cells, widths)
        return "".join(f"{_GAP.join(_padded(*part, screen) for part in line).rstrip()}\n" for line in lines)


_Part = tuple[Toned, int, bool]
"""Text in one column of one line, the column's width, and whether it is aligned to the right."""


def _cell(value: Cell) -> Toned:
    shown = value if isinstance(value, Toned) else Toned("" if value is None else str(value))
    return Toned(plain_text(shown.text), shown.tone)


def _grid(
    columns: Sequence[Column], rows: Sequence[Mapping[str, Toned]], widths: Mapping[str, int]
) -> Iterator[Sequence[_Part]]:
    yield [(Toned(one.title, Tone.STRONG), widths[one.key], False) for one in columns]
    for row in rows:
        cells = [_wrapped(row[one.key], widths[one.key]) if row[one.key].text else [Toned("-")] for one in columns]
        for line in zip_longest(*cells, fillvalue=Toned("")):
            yield [(part, widths[one.key], one.right) for part, one in zip(line, columns, strict=True)]


def _blocks(columns: Sequence[Column], rows: Sequence[Mapping[str, Toned]], wide: int) -> Iterator[Sequence[_Part]]:
    """Yield each row as a heading (its first cell) and one or more lines for each other cell."""
    first, *others = columns
    for row in rows:
        yield [(Toned(row[first.key].text or "-", Tone.STRONG), 0, False)]
        for column in others:
            if (cell := row[column.key]).text:
                said = Toned(f"{column.title.lower()}: {cell.text}", cell.tone)
                yield from ([(Toned(""), 0, False), (part, 0, False)] for part in _wrapped(said, wide - len(_GAP)))


def _wrapped(cell: Toned, width: int) -> list[Toned]:
    """Return the lines of a cell, none wider than `width`."""
    if cell_len(cell.text) <= width:
        return [cell]
    lines = Text(cell.text).wrap(Console(file=StringIO()), max(width, 1), overflow="fold")
    return [Toned(line.plain.rstrip(), cell.tone) for line in lines]


def _padded(cell: Toned, width: int, right: bool, screen: Screen) -> str:
    """Return a cell in its color, padded with plain spaces."""
    shown = painted(cell.text, cell.tone, color=screen.color)
    spaces = " " * (width - cell_len(cell.text))
    return spaces + shown if right else shown + spaces
