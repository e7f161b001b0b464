"""When an instance is idle: kernels, terminals, a server without answer, and wrong clocks."""

from datetime import UTC, datetime, timedelta

import pytest

from notebook_instance.idleness import Activity, Seen, Verdict, verify

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
IDLE = timedelta(minutes=60)


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def kernel(minutes: float, *, busy: bool = False) -> Activity:
    return Activity("kernel python3", busy, ago(minutes))


def terminal(minutes: float) -> Activity:
    return Activity("terminal 1", busy=False, last=ago(minutes))


def verdict(*activities: Activity, started: float = 600, answered: float | None = 5) -> Verdict:
    reported = None if answered is None else ago(answered)
    return verify(Seen(activities), now=NOW, started=ago(started), answered=reported, idle=IDLE)


def silence(*, started: float = 600, answered: float | None = 5) -> Verdict:
    reported = None if answered is None else ago(answered)
    return verify(Seen(None, "refused"), now=NOW, started=ago(started), answered=reported, idle=IDLE)


@pytest.mark.parametrize(
    ("activities", "stop", "reason"),
    [
        ((), True, "no kernel and no terminal"),
        ((kernel(59),), False, "kernel python3 was active last"),
        ((kernel(60),), True, "60 minutes ago; the limit is 60"),
        ((kernel(61), terminal(10)), False, "terminal 1 was active last"),
        ((kernel(10), terminal(61)), False, "kernel python3 was active last"),
        ((kernel(300, busy=True), terminal(300)), False, "kernel python3 is busy"),
        ((kernel(61), terminal(61)), True, "61 minutes ago"),
        # Times of a clock that was years ahead would keep the instance running for years.
        ((kernel(-60 * 24 * 365),), True, "no kernel"),
        ((kernel(-60 * 24 * 365), terminal(61)), True, "terminal 1"),
        ((kernel(-4),), False, "0 minutes ago"),
    ],
)
def test_the_last_activity_counts(activities: tuple[Activity, ...], stop: bool, reason: str):
    reported = verdict(*activities)
    assert (reported.stop, reason in reported.reason) == (stop, True), reported


def test_idle_time_counts_from_the_start_of_the_instance():
    assert not verdict(started=59).stop
    assert verdict(started=60).stop
    assert not verdict(kernel(600), started=30).stop, "a time before the start"


def test_a_server_without_answer_stops_the_instance_only_after_the_limit():
    assert not silence(answered=5).stop
    assert "Jupyter does not answer (refused), 5 minutes ago" in silence(answered=5).reason
    assert silence(answered=60).stop
    assert not silence(started=30, answered=None).stop
    assert silence(started=60, answered=None).stop
    # A clock that was set back: times in the future are ignored, and the effect is limited.
    assert not silence(answered=-600).stop
    assert not silence(started=-5, answered=None).stop
