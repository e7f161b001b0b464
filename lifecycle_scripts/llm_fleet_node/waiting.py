"""Waits for conditions with a deadline, never for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from llm_fleet_node.failures import Code, fail

_FIRST, _GROWTH, _LONGEST = 0.05, 1.5, 1.0
"""Seconds between two checks: short at first, because most conditions are soon true, then longer."""
_LONGEST_PAUSE = 5.0

Found = TypeVar("Found")


def wait_for(what: str, look: Callable[[], Found], *, seconds: float, code: Code) -> Found:
    """Call `look` repeatedly until its result is true, and return that.

    Raises `Failure` with `code` after `seconds`, with the message that there was no `what`.
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
    """Pause before a request to another machine is repeated.

    Only between attempts with a limit or a deadline; use `wait_for` to wait for a condition.
    """
    time.sleep(min(seconds, _LONGEST_PAUSE))
