"""When a job is started and how often it is tried: what is refused, and the pace that follows."""

from typing import Any

import pytest

from llm_fleet.catalog.training_job import job_machine_fact
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import FleetError, raise_problems
from llm_fleet.rules.sagemaker.training_job import check_capacity_retries, check_job_schedule
from llm_fleet.sagemaker.training_job.machine_pace import (
    EVENTS_OF_A_POLL,
    EVENTS_OF_AN_ASK,
    longest_seconds,
    pace,
    watch_record,
)
from llm_fleet.spec.training_job import CapacityRetries, JobSchedule


@pytest.mark.parametrize(
    "expression", ["cron(0 3 ? * SUN *)", "rate(1 hour)", "rate(7 days)", "at(2026-12-24T03:00:00)", "${Token[x.1]}"]
)
def test_schedules_of_the_service_pass(expression: str) -> None:
    assert JobSchedule(expression=expression).expression == expression


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"expression": "every sunday"}, "none of cron"),
        ({"expression": "cron(0 3 * * SUN *)"}, "needs \\? in exactly one"),
        ({"expression": "0 3 * * *"}, "none of cron"),
        ({"expression": "rate(0 days)"}, "never comes"),
        ({"expression": "rate(7 weeks)"}, "the unit weeks"),
        ({"expression": "rate(seven days)"}, "not a number and a unit"),
        ({"expression": "at(tomorrow)"}, "no time of a day"),
        ({"expression": "at(2026-02-30T03:00:00)"}, "a time that there is not"),
        ({"expression": "rate(1 day)", "time_zone": "Vienna"}, "no such time zone"),
        ({"expression": "rate(1 day)", "hyperparameters": {"epochs": 3}}, "be text"),
    ],
)
def test_other_schedules_are_told(given: dict[str, Any], word: str) -> None:
    with pytest.raises(FleetError, match=word):
        raise_problems(check_job_schedule(JobSchedule(**given)))


def test_waits_are_doubled_up_to_the_longest() -> None:
    assert CapacityRetries().waits == (300, 600, 1200, 2400, 3600)
    assert CapacityRetries(attempts=3, first_wait_seconds=30).waits == (30, 60, 120)
    assert CapacityRetries(attempts=2, first_wait_seconds=7200).waits == (7200, 7200)
    assert CapacityRetries(attempts=0).waits == ()


@pytest.mark.parametrize(
    "given",
    [{"attempts": 21}, {"attempts": -1}, {"first_wait_seconds": 5}, {"longest_wait_seconds": 90000},
     {"first_wait_seconds": 600, "longest_wait_seconds": 60}],
)  # fmt: skip
def test_other_attempts_are_told(given: dict[str, Any]) -> None:
    retries = CapacityRetries(**given)
    (problem,) = [*check_fields(retries), *check_capacity_retries(retries)]
    assert problem.code == "LF973"


def test_a_number_of_attempts_is_a_number() -> None:
    with pytest.raises(FleetError, match="LF113"):
        CapacityRetries(attempts=True)


@pytest.mark.parametrize("days", [1, 5, 28])
@pytest.mark.parametrize("answer_seconds", [None, 10_800, 90_000])
def test_no_history_gets_longer_than_the_service_allows(days: int, answer_seconds: int | None) -> None:
    watch = None if answer_seconds is None else watch_record("t", answer_within_seconds=answer_seconds)
    horizon = longest_seconds(run_seconds=days * 86_400, pending_seconds=None, watched=watch is not None)
    found = pace(longest_seconds=horizon, attempts=21, alarms=20, watch=watch)
    events = found.polls_at_most * EVENTS_OF_A_POLL
    if watch:
        events += (1 + watch.successors_at_most) * watch.asks_at_most * EVENTS_OF_AN_ASK
        assert watch.ask_seconds * watch.asks_at_most >= (answer_seconds or 0)
    assert events < job_machine_fact("history_events")
    assert found.poll_seconds * found.polls_at_most >= horizon
    assert found.poll_seconds >= 60


def test_a_day_is_asked_for_about_every_minute_and_a_month_less() -> None:
    def seconds(days: int) -> int:
        horizon = longest_seconds(run_seconds=days * 86_400, pending_seconds=0, watched=False)
        return pace(longest_seconds=horizon, attempts=6, alarms=1, watch=None).poll_seconds

    assert (seconds(1), seconds(28)) == (60, 1135)
