"""Decides whether a notebook instance is idle. Pure: everything is told, the clock too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

_AHEAD = timedelta(minutes=5)
"""How far ahead of the clock a time may lie: a later one is of a clock that was wrong, and would never pass."""


@dataclass(frozen=True)
class Activity:
    """A kernel or a terminal."""

    what: str
    """In words, e.g. `kernel python3`."""
    busy: bool
    """Whether it computes right now."""
    last: datetime
    """When something happened in it last."""


@dataclass(frozen=True)
class Seen:
    """What one look found."""

    activities: tuple[Activity, ...] | None
    """`None` where Jupyter did not answer."""
    why: str = ""
    """Why it did not."""


@dataclass(frozen=True)
class Verdict:
    """What to do, and why."""

    stop: bool
    reason: str


def verify(seen: Seen, *, now: datetime, started: datetime, answered: datetime | None, idle: timedelta) -> Verdict:
    """Return whether the instance has been idle for `idle`.

    `started`: when it booted; nothing counts as idle before. `answered`: when Jupyter answered last. A server that does
    not answer is no reason to stop at once, and none to run for ever: its silence counts as idleness.
    """
    if seen.activities is None:
        since = max(started, min(answered or started, now))
        return _by_age(f"Jupyter does not answer ({seen.why})", since, now, idle)
    for activity in seen.activities:
        if activity.busy:
            return Verdict(False, f"{activity.what} is busy")
    plausible = [activity for activity in seen.activities if activity.last <= now + _AHEAD]
    latest = max(plausible, key=lambda activity: activity.last, default=None)
    if latest is None or latest.last < started:
        return _by_age("no kernel and no terminal has done anything since the start", started, now, idle)
    return _by_age(f"{latest.what} was the last to do anything", latest.last, now, idle)


def _by_age(what: str, since: datetime, now: datetime, idle: timedelta) -> Verdict:
    age = max(now - since, timedelta())
    reported = f"{what}, {int(age.total_seconds() // 60)} minutes ago; the limit is {int(idle.total_seconds() // 60)}"
    return Verdict(age >= idle, reported)
