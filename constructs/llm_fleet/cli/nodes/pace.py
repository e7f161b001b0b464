"""Keeps calls within what a service allows in a second."""

import time
from collections.abc import Callable

from llm_fleet.catalog.aws_api import ApiRate


class Pace:
    """A bucket of tokens, as AWS itself counts calls: each call takes one, and they come back at a rate."""

    def __init__(
        self,
        rate: ApiRate,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Begin with a full bucket. `clock` tells seconds, `sleep` waits for some."""
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._tokens = float(rate.burst)
        self._at = clock()
        self.waited = 0.0
        """Seconds that were waited for the service's sake."""

    def take(self) -> None:
        """Wait until a call may be made."""
        self._refill()
        if self._tokens < 1:
            pause = (1 - self._tokens) / self._rate.per_second
            self._sleep(pause)
            self.waited += pause
            self._refill()
        self._tokens -= 1

    def _refill(self) -> None:
        now = self._clock()
        self._tokens = min(float(self._rate.burst), self._tokens + (now - self._at) * self._rate.per_second)
        self._at = now
