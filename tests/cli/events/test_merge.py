"""What is told twice is one event; what happens again is another."""

from datetime import UTC, datetime, timedelta

from llm_fleet.catalog.nodes import remedy_for
from llm_fleet.cli.events.event import Event, Level
from llm_fleet.cli.events.merge import merged

START = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)


def event(seconds: float, *, about: str = "i-1", failure: str | None = None) -> Event:
    time = START + timedelta(seconds=seconds)
    return Event(time=time, level=Level.ERROR, source="HyperPod", about=about, what="failed", failure=failure)


def test_a_pair_is_one_with_the_message_that_one_of_them_has() -> None:
    (one,) = merged([event(2), event(0, failure="no capacity")])
    assert (one.times, one.failure, one.time) == (2, "no capacity", START)
    (other,) = merged([event(0), event(2, failure="no capacity")])
    assert (other.times, other.failure) == (2, "no capacity")


def test_other_nodes_other_messages_and_later_ones_are_others() -> None:
    assert len(merged([event(0), event(1, about="i-2")])) == 2
    assert len(merged([event(0, failure="a"), event(1, failure="b")])) == 2
    assert len(merged([event(0), event(301)])) == 2


def test_known_failures_have_a_remedy_and_others_none() -> None:
    assert "llm-fleet logs --failed" in (remedy_for("Lifecycle scripts did not run successfully. Ensure …") or "")
    assert "security group" in (remedy_for("EFA health checks did not run successfully") or "")
    assert remedy_for("something else") is None
