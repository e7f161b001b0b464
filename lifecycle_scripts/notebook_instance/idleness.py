"""Decides whether a notebook instance is idle. Pure: all inputs are parameters, the time too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

_AHEAD = timedelta(minutes=5)
"""Tolerance for times ahead of the clock: later ones come from a wrong clock, and would never pass."""


@dataclass(frozen=True)
class Activity:
    """A kernel or a terminal."""

    what: str
    """E.g. `kernel python3`."""
    busy: bool
    """Whether it is running code."""
    last: datetime
    """Time of its last activity."""


@dataclass(frozen=True)
class Seen:
    """Result of one query of Jupyter."""

    activities: tuple[Activity, ...] | None
    """`None` if Jupyter did not answer."""
    why: str = ""
    """Why Jupyter did not answer."""


@dataclass(frozen=True)
class Verdict:
    """Whether to stop, and the reason."""

    stop: bool
    reason: str


def verify(seen: Seen, *, now: datetime, started: datetime, answered: datetime | None, idle: timedelta) -> Verdict:
    """Return whether the instance has been idle for `idle`.

    `started`: the boot time, from which idle time counts. `answered`: when Jupyter answered last. While Jupyter does
    not answer, the instance counts as idle: it neither stops immediately nor runs forever.
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
        return _by_age("no kernel and no terminal was active since the start", started, now, idle)
    return _by_age(f"{latest.what} was active last", latest.last, now, idle)


def _by_age(what: str, since: datetime, now: datetime, idle: timedelta) -> Verdict:
    age = max(now - since, timedelta())
    reported = f"{what}, {int(age.total_seconds() // 60)} minutes ago; the limit is {int(idle.total_seconds() // 60)}"
    return Verdict(age >= idle, reported)
