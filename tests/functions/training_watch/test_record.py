"""Recorded decisions are kept: the second of two concurrent runs changes nothing."""

import pytest

from llm_fleet.functions.training_watch.decide import GIVE_UP, LEAVE, RESTART, Decision, Divergence, Entry, Record
from tests.functions.training_watch.day.clock_and_queue import Clock
from tests.functions.training_watch.memory_aws import memory_aws

JOB = "llama-job"
DUE = 160


class Kept:
    """A record with an open job."""

    def __init__(self) -> None:
        self.record = Record(memory_aws(Clock(0)).dynamodb, "record", "day")
        self.record.begin(JOB, {"root": JOB, "attempt": 0})

    @property
    def entry(self) -> Entry:
        found = self.record.read(JOB)
        assert found is not None
        return found

    def restart(self) -> None:
        again = Decision(decision=RESTART, cause="service", reason="lost", successor=f"{JOB}-r1", due=DUE)
        self.record.decide(JOB, again, 100)


@pytest.fixture
def kept() -> Kept:
    return Kept()


def test_the_first_problem_of_a_job_is_kept(kept: Kept) -> None:
    kept.record.diverged(JOB, Divergence(kind="nan", onset=50))
    kept.record.diverged(JOB, Divergence(kind="stall", onset=90))
    assert kept.entry.divergence == Divergence(kind="nan", onset=50)


def test_a_decided_job_cannot_diverge(kept: Kept) -> None:
    kept.restart()
    kept.record.diverged(JOB, Divergence(kind="nan", onset=50))
    assert kept.entry.divergence is None


def test_a_decision_is_kept(kept: Kept) -> None:
    kept.restart()
    kept.record.decide(JOB, Decision(decision=LEAVE, cause="user", reason="late"), 200)
    assert (kept.entry.decision, kept.entry.text("cause")) == (RESTART, "service")


def test_only_one_of_two_runs_postpones_a_restart(kept: Kept) -> None:
    kept.restart()
    kept.record.postpone(JOB, until=300, seen=DUE, tries=1)
    kept.record.postpone(JOB, until=900, seen=DUE, tries=1)
    assert kept.entry.number("due") == 300


def test_a_created_successor_is_neither_postponed_nor_given_up(kept: Kept) -> None:
    kept.restart()
    kept.record.created(JOB, 170)
    kept.record.postpone(JOB, until=900, seen=DUE, tries=1)
    kept.record.give_up(JOB, "no quota")
    assert (kept.entry.decision, kept.entry.number("due"), kept.entry.text("reason")) == (RESTART, DUE, "lost")


def test_a_created_successor_is_a_restart_even_if_another_run_gave_up(kept: Kept) -> None:
    kept.restart()
    kept.record.give_up(JOB, "no quota")
    assert kept.entry.decision == GIVE_UP
    kept.record.created(JOB, 170)
    assert kept.entry.decision == RESTART


def test_an_existing_entry_is_not_overwritten(kept: Kept) -> None:
    kept.restart()
    kept.record.close(JOB)
    kept.record.begin(JOB, {"root": JOB, "attempt": 0})
    assert (kept.entry.open, kept.entry.decision) == (False, RESTART)
