"""A day of 200 events, duplicated, reordered and late, and a function that crashes between any two calls."""

import logging
from typing import Any

import pytest

from tests.functions.training_watch.day.clock_and_queue import Clock
from tests.functions.training_watch.day.run_day import DAY_START, Day, new_day
from tests.functions.training_watch.day.script import LINES, Outcome, outcomes
from tests.functions.training_watch.day.world import BUCKET, EVENTS, FILES
from tests.functions.training_watch.memory_aws import memory_aws
from tests.functions.training_watch.moto_aws import moto_aws

_LONG = "llama-long-name-long-name-long-name-long-name-long-name-ends-it"
LONG_NAMES = {f"{_LONG}-r1": "llama-long-name-long-name-long-name-long-name-long-ecb98554-r1"}
"""A successor's name that is too long: its digest by `sha256sum`."""
HALF = (
    "llama-nan",
    "llama-unlucky",
    "llama-stall",
    "llama-early",
    "llama-recovered",
    "llama-unheard",
    "llama-taken",
    "frugal-model",
    "strangers-job",
)
SEEDS = range(1, 4)
CRASH_CHANCE = 0.5


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("llm_fleet.functions.training_watch").setLevel(logging.CRITICAL)
    logging.getLogger("llm_fleet.functions.training_watch.handler").setLevel(logging.CRITICAL)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The day's clock, also for SageMaker."""
    clock = Clock(DAY_START)
    monkeypatch.setattr("llm_fleet_local.aws.resources.moto_fixes.sagemaker_training_jobs.time", clock)
    return clock


@pytest.mark.parametrize("seed", SEEDS)
def test_every_job_restarts_as_expected_from_the_right_checkpoint(seed: int, clock: Clock) -> None:
    raw = memory_aws(clock)
    day = new_day(raw, clock, seed=seed, crash_chance=CRASH_CHANCE, sweep_every=3600)
    day.simulate()
    check(day, raw)
    assert day.crashes >= 40, "a day without crashes shows nothing"
    assert day.overlaps >= 5


def test_the_day_is_the_same_on_the_aws_emulator(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the series, with more duplicated events, since each call of moto takes some milliseconds."""
    with moto_aws(clock, monkeypatch) as raw:
        embedded = _day_of_half(raw, clock)
    assert _day_of_half(memory_aws(clock), clock) == embedded


def _day_of_half(raw: Any, clock: Clock) -> tuple[Any, ...]:
    clock.now = DAY_START
    lines = tuple(line for line in LINES if line.root in HALF)
    day = new_day(raw, clock, seed=0, crash_chance=CRASH_CHANCE, sweep_every=6 * 3600, lines=lines)
    day.simulate()
    check(day, raw)
    assert day.crashes >= 20
    return (
        dict(raw.items()),
        day.world.found,
        [(message["Subject"], message["Message"]) for message in raw.published()],
    )


def check(day: Day, raw: Any) -> None:
    """Compare the final state with the expected one of the script."""
    wanted = {outcome.job: outcome for line in day.world.lines for outcome in outcomes(line)}
    strangers = {f"{line.root}-r1" for line in day.world.lines if line.name_taken}
    assert set(day.world.jobs) == {_name(job) for job in wanted} | strangers
    reported = [tuple(message["MessageAttributes"][name]["StringValue"] for name in ("about", "what"))
            for message in raw.published()]  # fmt: skip
    items = raw.items()
    for outcome in wanted.values():
        _check_job(
            day, outcome, items.get(_name(outcome.job)), {what for job, what in reported if job == _name(outcome.job)}
        )
    assert items.keys() == {_name(job) for job, outcome in wanted.items() if outcome.decision} | {"watch/since"}
    assert len(reported) - len(set(reported)) <= day.crashes + day.overlaps, "published twice only after a crash"
    assert not raw.alarms()
    assert len(day.decided) == len(set(day.decided)), "what is decided is decided once"
    assert day.world.events == EVENTS


def _check_job(day: Day, outcome: Outcome, item: Any, reported: set[str]) -> None:
    name = _name(outcome.job)
    assert (item and item["decision"]["S"]) == outcome.decision, (name, item)
    assert reported == outcome.reported, name
    assert item is None or "open" not in item, name
    _check_request(day, name, outcome)
    if name in day.world.found:
        assert day.world.began[name] == outcome.begins_at, name
    if outcome.given is not None:
        folder = outcome.given.split("/")[1]
        there = {f"{folder}/{file}": f"{outcome.given}/{file}".encode() for file in FILES}
        assert day.world.found[name] == there, name


def _check_request(day: Day, name: str, outcome: Outcome) -> None:
    job = day.world.jobs[name]
    tags = {tag["Key"]: tag["Value"] for tag in job.tags}
    assert tags["team"] == "research"
    assert job.requested.get("CheckpointConfig", {"S3Uri": f"s3://{BUCKET}/{outcome.place}"})["S3Uri"] == (
        f"s3://{BUCKET}/{outcome.place}"
    )
    if "llm-fleet:after" in tags:
        ended = day.world.jobs[tags["llm-fleet:after"]].reported["TrainingEndTime"]
        waited = job.reported["CreationTime"] - ended
        assert waited >= 60 * 2 ** (int(tags["llm-fleet:attempt"]) - 1) - 1, "before its back-off was over"
    found = day.world.line_of(name)
    if name in day.world.stopping and found and found[1].kind != "nan":
        assert day.world.stopping[name] - job.reported["TrainingStartTime"] >= 1800, "an alarm counted too soon"


def _name(job: str) -> str:
    return LONG_NAMES.get(job, job)
