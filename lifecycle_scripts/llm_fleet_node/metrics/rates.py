"""Rates of counters between two readings."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Optional


class Rates:
    """Previous counter values, only in memory: the first reading after a restart has no rates."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: a monotonic clock, because the system clock can be set while this runs."""
        self._clock = clock
        self._last: dict[str, tuple[float, float]] = {}

    def rise(self, name: str, now: float) -> Optional[float]:
        """Return the increase of the counter `name` to `now`; `None` at the first reading or after a reset."""
        found = self._since(name, now)
        return None if found is None else found[0]

    def per_second(self, name: str, now: float) -> Optional[float]:
        """Return the increase per second."""
        found = self._since(name, now)
        return None if found is None or found[1] <= 0 else found[0] / found[1]

    def _since(self, name: str, now: float) -> Optional[tuple[float, float]]:
        at = self._clock()
        before = self._last.get(name)
        self._last[name] = (now, at)
        if before is None or now < before[0]:  # a reloaded driver starts at 0
            return None
        return now - before[0], at - before[1]


def known(values: dict[str, Optional[float]]) -> dict[str, float]:
    """Return `values` without `None`."""
    return {name: value for name, value in values.items() if value is not None}
