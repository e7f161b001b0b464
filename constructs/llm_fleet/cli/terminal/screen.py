"""What standard output can show."""

import os
import shutil
import sys
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Where a command's answer goes."""

    width: int | None
    """Columns; `None` where there is no end, as in a file or pipe: there a row is a line, for grep and awk."""
    colour: bool
    """Whether colours are shown: on a terminal, unless `NO_COLOR` is set to anything (no-color.org) or `TERM` is dumb;
    `FORCE_COLOR` shows them anywhere."""
    live: bool
    """Whether lines can be written over, as progress and a live table do."""

    @classmethod
    def of_output(cls) -> Self:
        """Return what standard output is now."""
        terminal = sys.stdout.isatty()
        dumb = os.environ.get("TERM", "") in ("dumb", "unknown")
        return cls(
            width=shutil.get_terminal_size().columns if terminal else None,
            colour=_wants_colour(terminal and not dumb),
            live=terminal and not dumb,
        )


def _wants_colour(terminal: bool) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return terminal or bool(os.environ.get("FORCE_COLOR"))
