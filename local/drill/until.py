"""Waits for what a story needs, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

from local.drill.slurm import NotInTime

_PAUSE = 0.1


def until(what: str, look: Callable[[], object], *, seconds: float) -> None:
    """Return as soon as `look` returns something true. Raises `NotInTime`, which names `what`, after `seconds`."""
    deadline = time.monotonic() + seconds
    while not look():
        if time.monotonic() > deadline:
            raise NotInTime(f"within {seconds:g} s it did not come to be that {what}")
        time.sleep(_PAUSE)
