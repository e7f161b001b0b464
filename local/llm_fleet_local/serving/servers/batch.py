"""A batch of fixed size that generates in parallel, and its queue.

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
    """Times of a request's arrival, start and first token, on a monotonic clock."""

    queued: float = field(default_factory=time.monotonic)
    started: float = 0.0
    first_token: float = 0.0
    ended: float = 0.0


class Batch:
    """Models an accelerator with a compiled batch size: `size` requests run in parallel, others wait."""

    def __init__(self, *, size: int, token_seconds: float) -> None:
        """The size of the batch, and the seconds per token."""
        self._places = asyncio.Semaphore(size)
        self._token_seconds = token_seconds
        self._ended = asyncio.Event()
        self.waiting = 0
        self.running = 0

    async def generate(self, tokens: tuple[str, ...], timing: Timing) -> AsyncGenerator[str]:
        """Yield `tokens` when they are generated, after a place is free. Raises `BatchEnded` after `end`."""
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
        """Cancel all running generations."""
        self._ended.set()

    async def _next_token(self) -> None:
        try:
            await asyncio.wait_for(self._ended.wait(), self._token_seconds)
        except TimeoutError:
            return
        raise BatchEnded
