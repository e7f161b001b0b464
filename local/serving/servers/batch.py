"""A batch of a fixed size that generates side by side, and the queue in front of it.

Source: assumption model-servers-as-in-their-sources
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field


class BatchEnded(Exception):
    """The batch was shut down while it generated."""


@dataclass(slots=True)
class Timing:
    """When a request came, began and gave its first token, by a clock of no meaning."""

    queued: float = field(default_factory=time.monotonic)
    started: float = 0.0
    first_token: float = 0.0
    ended: float = 0.0


class Batch:
    """What an accelerator with a compiled batch size does with requests: `size` at once, the others in turn."""

    def __init__(self, *, size: int, token_seconds: float) -> None:
        """Take the places, and how long each token takes."""
        self._places = asyncio.Semaphore(size)
        self._token_seconds = token_seconds
        self._ended = asyncio.Event()
        self.waiting = 0
        self.running = 0

    async def generate(self, tokens: tuple[str, ...], timing: Timing) -> AsyncGenerator[str]:
        """Yield `tokens` as they come, once there is a place. Raises `BatchEnded` after `end`."""
        self.waiting += 1
        try:
            await self._places.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        timing.started = time.monotonic()
        try:
            for token in tokens:
                await self._next_token()
                timing.first_token = timing.first_token or time.monotonic()
                yield token
        finally:
            timing.ended = time.monotonic()
            self.running -= 1
            self._places.release()

    def end(self) -> None:
        """Break off everything that is being generated."""
        self._ended.set()

    async def _next_token(self) -> None:
        try:
            await asyncio.wait_for(self._ended.wait(), self._token_seconds)
        except TimeoutError:
            return
        raise BatchEnded
