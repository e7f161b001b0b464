"""What is written to the terminal: plain and coloured text, JSON, progress, problems; Ctrl-C on the way.

Ctrl-C ends a command wherever it comes.

What is raised in a callback of Python's own, e.g. where it takes leave of a module's lock, is printed and thrown away
(https://docs.python.org/3/library/sys.html#sys.unraisablehook): a Ctrl-C that falls there would be lost.
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
    """Return `text` on one line, without what would steer the terminal: a name or a log line must not."""
    if text.isprintable():  # Most are, and then nothing in it steers.
        return text
    return "".join(" " if sign in "\t\r\n" else sign for sign in text if sign in "\t\r\n" or not _steers(sign))


def plain_line(text: str) -> str:
    """Return one line of a log, tabs kept, without what would steer the terminal."""
    return "".join(sign for sign in text.rstrip("\r\n") if sign == "\t" or not _steers(sign))


def _steers(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp")


def print_json(reported: Any) -> None:
    """Print `reported` as one JSON document: times in ISO 8601, objects by their fields, problems with all keys."""
    print(json.dumps(reported, indent=2, default=plain_data))


def plain_data(value: object) -> object:
    """Return what JSON can hold of `value`, as `default` of `json.dumps`."""
    if isinstance(value, Problem):
        return reported_problem(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value.isoformat() if isinstance(value, datetime | date) else str(value)


def print_notes(remarks: Iterable[str], problems: Iterable[Problem]) -> None:
    """Print on standard error what is to be known beside the answer, and what AWS would not tell."""
    for remark in remarks:
        print(f"note: {plain_text(remark)}", file=sys.stderr)
    for problem in problems:
        print(problem, file=sys.stderr)


def reported_problem(problem: Problem) -> dict[str, Any]:
    """Return `problem` as what JSON can hold; what is not said is left out."""
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
    """The colour of a word, as `rich` names the styles that every terminal has."""

    PLAIN = ""
    GOOD = "green"
    WARNING = "yellow"
    BAD = "red"
    DIM = "dim"
    STRONG = "bold"


@dataclass(frozen=True, slots=True)
class Toned:
    """Text with a tone. No meaning is in the tone alone: the text says it, too."""

    text: str
    tone: Tone = Tone.PLAIN

    def __str__(self) -> str:
        return self.text


def painted(text: str, tone: Tone, *, colour: bool) -> str:
    """Return `text` in the colour of `tone` where there is `colour`."""
    if not colour:
        return text
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(tone.value).render(text, color_system=ColorSystem.STANDARD)


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


_SECONDS = 0.05
"""Until it is typed again: Python has left the callback by then, and nobody has noticed."""


@contextmanager
def ctrl_c_is_never_lost() -> Generator[None]:
    """Raise `KeyboardInterrupt` once more, a moment later, where Python has thrown it away."""
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
        signal.pthread_kill(main, signal.SIGINT)  # to that thread: it may be asleep in a call


Step = Callable[..., None]
"""`step()` when one more is done; `step(total=n)` when it becomes known how many there are; `step(said="…")`."""


@contextmanager
def progress(what: str, *, total: int | None = None) -> Generator[Step]:
    """Show a bar named `what`, on a terminal only; without `total` it only shows that something goes on.

    The bar is gone when the context ends, also by Ctrl-C, so that the answer stands alone.
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
    """Nobody looks."""
