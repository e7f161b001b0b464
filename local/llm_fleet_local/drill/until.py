"""Waits for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

from llm_fleet_local.drill.slurm import NotInTime

_PAUSE = 0.1


def until(what: str, look: Callable[[], object], *, seconds: float) -> None:
    """Return when `look` returns a true value. Raises `NotInTime`, with `what` in its message, after `seconds`."""
    deadline = time.monotonic() + seconds
    while not look():
        if time.monotonic() > deadline:
            raise NotInTime(f"not within {seconds:g} s: {what}")
        time.sleep(_PAUSE)
