"""One node builds what all need, the others wait for it; when it dies another goes on.

However many wait, the time is that of one build: nobody does again what is done, and after a few nodes in a row have
failed all others fail alike, rather than each for itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Optional

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.training.shared_lock import Held, Seen, SharedLock
from llm_fleet_node.waiting import pause

TRIES = 3
"""Builds that may fail, each on another node, before those who wait fail too: one node may be sick, three are not."""
_FIRST, _GROWTH, _LONGEST = 0.05, 1.5, 2.0
"""Seconds between two looks: each is a few questions to the file system, from every node that waits."""
_SAY_EVERY = 60.0


def build_once(
    lock: SharedLock,
    *,
    is_done: Callable[[], bool],
    build: Callable[[Held], None],
    say: Callable[[str], None],
    seconds: float,
) -> bool:
    """Make sure that `is_done()`, by letting one process at a time run `build`; return whether it was this one.

    `build` publishes what it made, all at once, after `Held.check`. Raises `Failure` when it fails, when it has failed
    on others too often, or when another still builds after `seconds`.
    """
    deadline = time.monotonic() + seconds
    before = lock.highest()
    interval, said = _FIRST, time.monotonic()
    while not is_done():
        seen = lock.look()
        if seen is None or seen.is_over or lock.is_abandoned(seen):
            _give_up_after_many(seen, before)
            held = lock.take(seen.number if seen else 0)
            if held is not None:
                return _build(held, is_done, build)
            continue
        now = time.monotonic()
        if now > deadline:
            fail(
                Code.BUILD_WAIT,
                f"{seen.who} is not ready with {lock.name} after {seconds:g} s of waiting{_doing(seen)}",
                final=True,
            )
        if now - said > _SAY_EVERY:
            said = now
            say(f"waiting for {seen.who}, which builds {lock.name}{_doing(seen)}")
        pause(interval)
        interval = min(interval * _GROWTH, _LONGEST)
    return False


def _build(held: Held, is_done: Callable[[], bool], build: Callable[[Held], None]) -> bool:
    with held:
        try:
            if is_done():  # between the look and the lock
                held.let_go()
                return False
            build(held)
        except Exception as error:
            cause = f"{error.code.code}  {error.cause}" if isinstance(error, Failure) else repr(error)
            _let_go(held, cause)
            raise
        held.let_go()
    return True


def _let_go(held: Held, cause: str) -> None:
    try:
        held.let_go(cause)
    except OSError:
        return  # The storage is what failed. Whoever waits sees that nobody writes any more.


def _give_up_after_many(seen: Optional[Seen], before: int) -> None:
    ended = seen.number - before if seen else 0
    if seen is not None and ended >= TRIES:
        failure = seen.record.get("failure") or "it ended without a word"
        fail(Code.BUILD_FAILED_ELSEWHERE, f"{ended} nodes have failed one after the other, last {seen.who}: {failure}")


def _doing(seen: Seen) -> str:
    doing = seen.record.get("doing")
    return f"; it is {doing}" if doing else ""
