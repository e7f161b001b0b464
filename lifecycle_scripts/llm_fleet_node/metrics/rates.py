"""What counters that only grow come to between two looks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Optional


class Rates:
    """Remembers counters. Kept in memory alone: after a restart the first look has nothing to compare with."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock that never jumps: the node's own may be set while this runs."""
        self._clock = clock
        self._last: dict[str, tuple[float, float]] = {}

    def rise(self, name: str, now: float) -> Optional[float]:
        """Return by how much the counter `name` has grown to `now`; `None` at the first look, or if it began anew."""
        found = self._since(name, now)
        return None if found is None else found[0]

    def per_second(self, name: str, now: float) -> Optional[float]:
        """Return the same by the second."""
        found = self._since(name, now)
        return None if found is None or found[1] <= 0 else found[0] / found[1]

    def _since(self, name: str, now: float) -> Optional[tuple[float, float]]:
        at = self._clock()
        before = self._last.get(name)
        self._last[name] = (now, at)
        if before is None or now < before[0]:  # a driver that was loaded anew begins at nothing
            return None
        return now - before[0], at - before[1]


def known(values: dict[str, Optional[float]]) -> dict[str, float]:
    """Return those of `values` that are there."""
    return {name: value for name, value in values.items() if value is not None}
