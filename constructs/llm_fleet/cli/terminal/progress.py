"""Tells on standard error what takes long, and how far it is; nothing where nobody looks."""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

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
