"""Waits for what is needed, with a deadline, and never for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from llm_fleet_node.failures import Code, fail

_FIRST, _GROWTH, _LONGEST = 0.05, 1.5, 1.0
"""Seconds between two looks: short at first, since most things are there at once, then longer to spare the node."""
_LONGEST_PAUSE = 5.0

Found = TypeVar("Found")


def wait_for(what: str, look: Callable[[], Found], *, seconds: float, code: Code) -> Found:
    """Return what `look` returns as soon as that is true; look again and again until then.

    Raises `Failure` with `code` when `seconds` are over, saying that there was no `what`.
    """
    deadline = time.monotonic() + seconds
    interval = _FIRST
    while True:
        found = look()
        if found:
            return found
        left = deadline - time.monotonic()
        if left <= 0:
            fail(code, f"no {what} within {seconds:g} s")
        time.sleep(min(interval, left))
        interval = min(interval * _GROWTH, _LONGEST)


def pause(seconds: float) -> None:
    """Spare another machine for a moment before it is asked again what it refused.

    Only between attempts that the caller counts or has a deadline for; whoever waits for something uses `wait_for`.
    """
    time.sleep(min(seconds, _LONGEST_PAUSE))
