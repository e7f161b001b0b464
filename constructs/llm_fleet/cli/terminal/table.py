"""A table for a terminal of any width."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from llm_fleet.cli.terminal.screen import Screen, Tone, Toned, painted, plain_text

_GAP = "  "
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

        Where the columns do not fit side by side, each row is a block of lines.
        """
        cells = [{key: _toned(value) for key, value in row.items()} for row in self.rows]
        columns = [one for one in self.columns if any(row.get(one.key, _NONE).text for row in cells)]
        widths = {
            one.key: max([cell_len(one.title), *(cell_len(_shown(row, one)) for row in cells)]) for one in columns
        }
        if not columns:
            return ""
        fitted = _fitted(columns, widths, screen.width)
        lines = _blocks(columns, cells, screen) if fitted is None else _lines(columns, cells, fitted, screen)
        return "".join(f"{line.rstrip()}\n" for line in lines)


_NONE = Toned("")


def _toned(value: Cell) -> Toned:
    if isinstance(value, Toned):
        return Toned(plain_text(value.text), value.tone)
    return _NONE if value is None else Toned(plain_text(str(value)))


def _shown(row: Mapping[str, Toned], column: Column) -> str:
    return row.get(column.key, _NONE).text or "-"


def _fitted(columns: Sequence[Column], widths: Mapping[str, int], width: int | None) -> dict[str, int] | None:
    """Return how wide each column is on a screen of `width`; `None` when they do not fit side by side."""
    total = sum(widths.values()) + len(_GAP) * (len(columns) - 1)
    if width is None or total <= width:
        return dict(widths)
    for column in columns:
        left = widths[column.key] - (total - width)
        if column.wraps and left >= _LEAST:
            return {**widths, column.key: left}
    return None


def _lines(
    columns: Sequence[Column], rows: Sequence[Mapping[str, Toned]], widths: Mapping[str, int], screen: Screen
) -> Iterator[str]:
    heads = [set_cell_size(one.title, widths[one.key]) for one in columns]
    yield painted(_GAP.join(heads).rstrip(), Tone.STRONG, colour=screen.colour)
    for row in rows:
        parts = [_wrapped(_shown(row, one), widths[one.key]) if one.wraps else [_shown(row, one)] for one in columns]
        for number in range(max(map(len, parts))):
            yield _GAP.join(
                _cell(part[number] if number < len(part) else "", one, widths[one.key], row, screen)
                for one, part in zip(columns, parts, strict=True)
            )


def _cell(text: str, column: Column, width: int, row: Mapping[str, Toned], screen: Screen) -> str:
    space = " " * (width - cell_len(text))
    shown = painted(text, row.get(column.key, _NONE).tone, colour=screen.colour)
    return space + shown if column.right else shown + space


def _blocks(columns: Sequence[Column], rows: Sequence[Mapping[str, Toned]], screen: Screen) -> Iterator[str]:
    """Yield each row as a heading, its first cell, and a line or more for each further one."""
    first, *others = columns
    for row in rows:
        yield painted(_shown(row, first), Tone.STRONG, colour=screen.colour)
        for column in others:
            cell = row.get(column.key, _NONE)
            if cell.text:
                for line in _wrapped(f"{column.title.lower()}: {cell.text}", (screen.width or _LEAST) - len(_GAP)):
                    yield _GAP + painted(line, cell.tone, colour=screen.colour)


def _wrapped(text: str, width: int) -> list[str]:
    """Return `text` in lines of at most `width` columns, broken at spaces, else within words."""
    lines: list[str] = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        while cell_len(word) > width:
            cut = set_cell_size(word, width).rstrip() or word[:1]
            lines[-1], word = cut, word[len(cut) :]
            lines.append("")
        lines[-1] = word
    return lines
