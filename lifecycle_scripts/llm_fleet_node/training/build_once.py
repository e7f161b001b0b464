"""One node builds, and the others wait for it; if it fails, another node continues.

With any number of nodes, the time is that of one build: nothing is built twice, and after several nodes in a row have
failed, all waiting nodes fail with the same error instead of trying one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Optional

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.training.shared_lock import Held, Seen, SharedLock
from llm_fleet_node.waiting import pause

TRIES = 3
"""Number of failed builds on different nodes after which waiting nodes fail too: one node can be faulty, not three."""
_FIRST, _GROWTH, _LONGEST = 0.05, 1.5, 2.0
"""Seconds between two checks: each is a few file system operations from every waiting node."""
_SAY_EVERY = 60.0


def build_once(
    lock: SharedLock,
    *,
    is_done: Callable[[], bool],
    build: Callable[[Held], None],
    say: Callable[[str], None],
    seconds: float,
) -> bool:
    """Run `build` in one process at a time until `is_done()`; return whether it was this process.

    `build` publishes its result atomically after `Held.check`. Raises `Failure` if it fails, if it failed on other
    nodes too often, or if another node still builds after `seconds`.
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
                Code.BUILD_TIMEOUT,
                f"{seen.who} has not finished {lock.name} after {seconds:g} s of waiting{_doing(seen)}",
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
            if is_done():  # between the check and the lock
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
        return  # The storage failed. Waiting nodes see that the lock is no longer renewed.


def _give_up_after_many(seen: Optional[Seen], before: int) -> None:
    ended = seen.number - before if seen else 0
    if seen is not None and ended >= TRIES:
        failure = seen.record.get("failure") or "it ended without a result"
        fail(Code.BUILD_FAILED_ELSEWHERE, f"{ended} nodes failed one after the other, last {seen.who}: {failure}")


def _doing(seen: Seen) -> str:
    doing = seen.record.get("doing")
    return f"; current work: {doing}" if doing else ""
