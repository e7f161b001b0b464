"""Decisions about jobs that have ended, and about jobs with alarms."""

from typing import Any

import pytest

from llm_fleet.functions.training_watch.checkpoints import Checkpoint
from llm_fleet.functions.training_watch.decide import Divergence, JobFacts, Sickness, cause_of, decide, verify
from llm_fleet.functions.training_watch.settings import JobSettings
from tests.functions.training_watch.memory_aws import moment

SPIKE = Divergence(kind="loss-spike", onset=5000.0)
BEFORE = Checkpoint(folder="checkpoint-60", step=60, saved=4000.0)
INTERNAL = "InternalServerError: We encountered an internal error. Please try again."


def _facts(status: str, secondary: str = "", failure: str = "", *, attempt: int = 0, **words: Any) -> JobFacts:
    described = {"TrainingJobStatus": status, "SecondaryStatus": secondary or status, "FailureReason": failure}
    tags = {"llm-fleet:attempt": str(attempt), "llm-fleet:root": "job"} if attempt else {}
    return JobFacts(description={"TrainingJobName": "job", **described, **words}, tags=tags)


@pytest.mark.parametrize(
    ("status", "secondary", "failure", "cause"),
    [
        ("Completed", "Completed", "", "completed"),
        ("Failed", "Failed", INTERNAL, "service"),
        ("Failed", "Failed", "CapacityError: Unable to provision requested ML compute capacity.", "capacity"),
        ("Failed", "Failed", "Unable to provision requested ML compute capacity. Please retry.", "capacity"),
        ("Stopped", "MaxWaitTimeExceeded", "", "capacity"),
        ("Stopped", "Interrupted", "", "capacity"),
        ("Stopped", "MaxRuntimeExceeded", "", "runtime"),
        ("Stopped", "Stopped", "", "person"),
        ("Failed", "Failed", "AlgorithmError: hardware failure, CapacityError in a traceback, exit code: 1", "user"),
        ("Failed", "Failed", "ClientError: Data download failed: InternalServerError", "user"),
        ("Failed", "Failed", "SomethingNew: who knows", "unknown"),
        ("Stopped", "SomethingNew", "", "unknown"),
    ],
)
def test_the_cause_of_an_end(status: str, secondary: str, failure: str, cause: str) -> None:
    assert cause_of(status=status, secondary=secondary, failure=failure) == cause


def test_a_failure_of_the_service_is_restarted_with_the_same_checkpoints() -> None:
    decision = decide(_facts("Failed", failure=INTERNAL), None, None, JobSettings(), now=1000.5)
    assert (decision.decision, decision.successor, decision.due) == ("restart", "job-r1", 1060)
    assert decision.checkpoint is None
    assert INTERNAL in decision.reason


def test_each_restart_waits_twice_as_long_up_to_a_limit() -> None:
    settings = JobSettings(max_restarts=10, backoff_seconds=100, backoff_most_seconds=500)
    due = [
        decide(_facts("Failed", failure=INTERNAL, attempt=done), None, None, settings, now=0).due for done in range(5)
    ]
    assert due == [100, 200, 400, 500, 500]


@pytest.mark.parametrize(("attempt", "decision"), [(2, "restart"), (3, "give_up"), (7, "give_up")])
def test_restarts_are_limited(attempt: int, decision: str) -> None:
    for divergence, before in ((None, None), (SPIKE, BEFORE)):
        facts = _facts("Failed", failure=INTERNAL, attempt=attempt)
        assert decide(facts, divergence, before, JobSettings(), now=0).decision == decision


@pytest.mark.parametrize("failure", ["AlgorithmError: exit 1", "ClientError: no such bucket", "SomethingNew"])
def test_jobs_with_other_failures_are_not_restarted(failure: str) -> None:
    decision = decide(_facts("Failed", failure=failure), None, None, JobSettings(), now=0)
    assert (decision.decision, decision.successor) == ("leave", None)
    assert failure in decision.reason


def test_the_maximum_runtime_is_a_reason_only_if_set() -> None:
    facts = _facts("Stopped", "MaxRuntimeExceeded")
    assert decide(facts, None, None, JobSettings(), now=0).decision == "leave"
    assert decide(facts, None, None, JobSettings(restart_at_max_runtime=True), now=0).decision == "restart"


@pytest.mark.parametrize("facts", [_facts("Stopped"), _facts("Failed", failure="AlgorithmError: killed while saving")])
def test_a_job_stopped_for_its_loss_resumes_from_an_earlier_checkpoint_however_it_ended(facts: JobFacts) -> None:
    decision = decide(facts, SPIKE, BEFORE, JobSettings(), now=0)
    assert (decision.decision, decision.checkpoint, decision.cause) == ("restart", "checkpoint-60", "loss-spike")


def test_without_an_earlier_checkpoint_the_job_is_given_up() -> None:
    decision = decide(_facts("Stopped"), SPIKE, None, JobSettings(), now=0)
    assert decision.decision == "give_up"
    assert "no complete checkpoint before" in decision.reason


def test_a_job_that_completed_before_it_was_stopped_is_completed() -> None:
    assert decide(_facts("Completed"), SPIKE, BEFORE, JobSettings(), now=0).cause == "completed"


def _running(**words: Any) -> JobFacts:
    kept: dict[str, Any] = {"CheckpointConfig": {"S3Uri": "s3://bucket/base/"}, "TrainingStartTime": moment(1000.0)}
    return _facts("InProgress", "Training", **{**kept, **words})


def test_without_alarms_nothing_is_decided() -> None:
    assert verify(_running(), {}, JobSettings(), now=9000) == Sickness()


def test_a_spike_counts_after_the_grace_period_and_nan_immediately() -> None:
    assert verify(_running(), {"stall": 1500.0}, JobSettings(), now=2799) == Sickness(until=2800.0)
    assert verify(_running(), {"stall": 1500.0}, JobSettings(), now=2800).stop == Divergence(kind="stall", onset=1440.0)
    assert verify(_running(), {"nan": 1500.0}, JobSettings(), now=1501).stop == Divergence(kind="nan", onset=1440.0)


def test_the_grace_period_restarts_with_training() -> None:
    steps = [{"Status": "Training", "StartTime": moment(at)} for at in (1000.0, 7000.0)]
    facts = _running(SecondaryStatusTransitions=steps)
    assert verify(facts, {"stall": 1500.0}, JobSettings(), now=8000) == Sickness(until=8800.0)


def test_the_earliest_of_several_alarms_counts_and_nan_has_priority() -> None:
    firing = {"throughput": 4000.0, "loss-spike": 3500.0}
    assert verify(_running(), firing, JobSettings(), now=9000).stop == Divergence(kind="loss-spike", onset=3440.0)
    stop = verify(_running(), {**firing, "nan": 5000.0}, JobSettings(), now=9000).stop
    assert stop == Divergence(kind="nan", onset=4940.0)


@pytest.mark.parametrize(
    ("facts", "settings", "why"),
    [
        (_running(CheckpointConfig={}), JobSettings(), "no checkpoints"),
        (_running(), JobSettings(max_restarts=0), "restarts are disabled"),
    ],
)
def test_a_job_that_cannot_resume_is_left_running(facts: JobFacts, settings: JobSettings, why: str) -> None:
    sickness = verify(facts, {"nan": 5000.0}, settings, now=9000)
    assert sickness.stop is None
    assert sickness.notice
    assert why in sickness.notice
