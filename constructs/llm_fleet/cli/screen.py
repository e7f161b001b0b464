"""Output to the terminal: plain and colored text, JSON, progress and problems; handling of Ctrl-C.

Ctrl-C always ends a command. Python prints and drops an exception in some of its own callbacks, e.g. when it releases a
module's lock (https://docs.python.org/3/library/sys.html#sys.unraisablehook), so a Ctrl-C there would be lost.
"""

import json
import os
import shutil
import signal
import sys
import threading
import unicodedata
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Self

from llm_fleet.rules.problem import Problem

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


def counted(number: int, noun: str) -> str:
    """Return e.g. `1 node`, `4 nodes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def plain_text(text: str) -> str:
    """Return `text` on one line without control characters, which could control the terminal."""
    if text.isprintable():  # Most texts are; then there are no control characters.
        return text
    return "".join(" " if sign in "\t\r\n" else sign for sign in text if sign in "\t\r\n" or not _steers(sign))


def plain_line(text: str) -> str:
    """Return one line of a log with its tabs, without other control characters."""
    return "".join(sign for sign in text.rstrip("\r\n") if sign == "\t" or not _steers(sign))


def _steers(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp")


def print_json(reported: Any) -> None:
    """Print `reported` as a JSON document: times in ISO 8601, objects by their fields, problems with all keys."""
    print(json.dumps(reported, indent=2, default=plain_data))


def plain_data(value: object) -> object:
    """Return `value` in a form for JSON, as `default` of `json.dumps`."""
    if isinstance(value, Problem):
        return reported_problem(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value.isoformat() if isinstance(value, datetime | date) else str(value)


def print_notes(remarks: Iterable[str], problems: Iterable[Problem]) -> None:
    """Print remarks, and calls that AWS refused, on standard error."""
    for remark in remarks:
        print(f"note: {plain_text(remark)}", file=sys.stderr)
    for problem in problems:
        print(problem, file=sys.stderr)


def reported_problem(problem: Problem) -> dict[str, Any]:
    """Return `problem` for JSON, without empty values."""
    reported = {
        "code": problem.code.value,
        "where": problem.where,
        "message": problem.message,
        "given": None if problem.value is None else str(problem.value),
        "allowed": problem.allowed,
        "remedy": problem.remedy,
    }
    return {key: value for key, value in reported.items() if value}


class Tone(Enum):
    """The color of a word, by `rich`'s names of styles that every terminal has."""

    PLAIN = ""
    GOOD = "green"
    WARNING = "yellow"
    BAD = "red"
    DIM = "dim"
    STRONG = "bold"


@dataclass(frozen=True, slots=True)
class Toned:
    """Text with a tone. The text has the meaning of the tone, too."""

    text: str
    tone: Tone = Tone.PLAIN

    def __str__(self) -> str:
        return self.text


def painted(text: str, tone: Tone, *, color: bool) -> str:
    """Return `text` in the color of `tone` if `color` is set."""
    if not color:
        return text
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(tone.value).render(text, color_system=ColorSystem.STANDARD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """The output of a command."""

    width: int | None
    """Columns; `None` for a file or pipe, where each row is one line for grep and awk."""
    color: bool
    """Whether to use colors: on a terminal, unless `NO_COLOR` is set (no-color.org) or `TERM` is dumb; with
    `FORCE_COLOR` always."""
    live: bool
    """Whether lines can be overwritten, for progress bars and live tables."""

    @classmethod
    def of_output(cls) -> Self:
        """Return the current standard output."""
        terminal = sys.stdout.isatty()
        dumb = os.environ.get("TERM", "") in ("dumb", "unknown")
        return cls(
            width=shutil.get_terminal_size().columns if terminal else None,
            color=_wants_color(terminal and not dumb),
            live=terminal and not dumb,
        )


def _wants_color(terminal: bool) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return terminal or bool(os.environ.get("FORCE_COLOR"))


_SECONDS = 0.05
"""Seconds until it is raised again: then Python has left the callback."""


@contextmanager
def ctrl_c_is_never_lost() -> Generator[None]:
    """Raise `KeyboardInterrupt` again a moment later if Python has dropped it."""
    before = sys.unraisablehook
    lost: list[threading.Timer] = []

    def hook(thrown: "UnraisableHookArgs", /) -> None:
        if not issubclass(thrown.exc_type, KeyboardInterrupt):
            before(thrown)
            return
        lost.append(threading.Timer(_SECONDS, _type_again))
        lost[-1].daemon = True
        lost[-1].start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in lost:
            timer.cancel()


def _type_again() -> None:
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        import _thread

        _thread.interrupt_main()
    else:
        signal.pthread_kill(main, signal.SIGINT)  # to that thread, which may be blocked in a call


Step = Callable[..., None]
"""`step()` for each completed item; `step(total=n)` when the number is known; `step(said="…")` for a text."""


@contextmanager
def progress(what: str, *, total: int | None = None) -> Generator[Step]:
    """Show a progress bar named `what`, on a terminal only; without `total` it only shows activity.

    The bar is removed when the context ends, also by Ctrl-C.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM", "") in ("dumb", "unknown"):
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=20), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)

        def step(*, total: int | None = None, said: str | None = None) -> None:
            if total is not None:
                bar.update(task, total=total)
            elif said is not None:
                bar.update(task, description=said)
            else:
                bar.advance(task)

        yield step


def _nothing(**_: object) -> None:
    """No output without a terminal."""
