"""One job in the watch: each action once, wherever a run crashes, with and without the sweep."""

import json
import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from llm_fleet.functions.training_watch.clusters import Clients, Parts
from llm_fleet.functions.training_watch.follow_job import MOST_TRIES
from llm_fleet.functions.training_watch.handler import NothingServed, handler, serve
from tests.functions.training_watch.day.clock_and_queue import Clock, Queue, as_event
from tests.functions.training_watch.day.crashes import Crash, CrashingClient, RunCrash
from tests.functions.training_watch.day.run_day import DAY_START, Day, new_day
from tests.functions.training_watch.day.script import JobEnd, Line
from tests.functions.training_watch.memory_aws import memory_aws, rejected

JOB = "llama-job"


class Watch:
    """A watch with one job, which has trained for two hours and saved checkpoints of its first 100 minutes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.clock = Clock(DAY_START)
        patch.setattr("llm_fleet_local.aws.resources.moto_fixes.sagemaker_training_jobs.time", self.clock)
        self.raw = memory_aws(self.clock)
        self.line = Line(JOB, (JobEnd("complete", 100),))
        self.day: Day = new_day(self.raw, self.clock, seed=1, crash_chance=0, sweep_every=1e9, lines=(self.line,))
        self.day.world.open_the_day()
        self.day.world.plan.pop()[2]()
        self.job = self.raw.jobs[JOB]
        self.job.move("InProgress", "Training", "")
        for minute in range(20, 120, 20):
            self.clock.now = DAY_START + minute * 60
            for file in ("model", "trainer_state.json"):
                self.raw.put(f"runs/{JOB}/checkpoint-{minute}/{file}", str(minute).encode())
        self.clock.now = DAY_START + 7200

    @property
    def queue(self) -> Queue:
        return self.day.queue

    def parts(self, run_crash: RunCrash | None = None) -> Parts:
        return self.day._parts(run_crash or RunCrash(random.Random(0), 0))  # pyright: ignore[reportPrivateUsage]

    def look(self, run_crash: RunCrash | None = None) -> None:
        serve(self.parts(run_crash), {"kind": "look", "job": JOB})

    def sweep(self) -> list[str]:
        before = set(self.queue.messages)
        serve(self.parts(), {"kind": "sweep"})
        sent = [json.loads(message.body) for name, message in self.queue.messages.items() if name not in before]
        return [document["job"] for document in sent]

    def alarm(self, kind: str, *, minutes_ago: int) -> None:
        self.look()
        now, self.clock.now = self.clock.now, self.clock.now - minutes_ago * 60
        self.raw.cloudwatch.set_alarm_state(
            AlarmName=f"llm-fleet/day/{JOB}/{kind}", StateValue="ALARM", StateReason="", StateReasonData="{}"
        )
        self.clock.now = now

    def item(self, job: str = JOB) -> dict[str, str]:
        return {name: next(iter(value.values())) for name, value in self.raw.items().get(job, {}).items()}

    def reported(self) -> list[str]:
        return [message["MessageAttributes"]["what"]["StringValue"] for message in self.raw.published()]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)


def test_alarms_come_with_training_and_go_with_the_job(watch: Watch) -> None:
    watch.look()
    assert {name.rpartition("/")[2] for name in watch.raw.alarms()} == {"loss-spike", "stall", "nan", "throughput"}
    watch.job.move("Completed", "Completed", "")
    watch.look()
    assert not watch.raw.alarms()
    assert (watch.item()["decision"], watch.item()["cause"]) == ("leave", "completed")


def test_a_job_that_does_not_train_yet_has_no_alarms(watch: Watch) -> None:
    watch.job.move("InProgress", "Downloading", "")
    watch.look()
    assert not watch.raw.alarms()
    assert watch.item()["open"] == "day"


def test_a_metric_that_the_job_does_not_define_is_reported_once(watch: Watch) -> None:
    watch.job.requested["AlgorithmSpecification"]["MetricDefinitions"].pop()
    watch.look()
    watch.look()
    assert watch.reported() == ["notice"]
    assert len(watch.raw.alarms()) == 3


def _stopped_for_nan(watch: Watch) -> None:
    watch.alarm("nan", minutes_ago=45)
    watch.look()
    assert watch.job.reported["TrainingJobStatus"] == "Stopping"
    watch.job.move("Stopped", "Stopped", "")


def test_a_job_with_nan_is_stopped_and_resumes_from_an_earlier_checkpoint(watch: Watch) -> None:
    _stopped_for_nan(watch)
    watch.look()
    assert watch.item()["checkpoint"] == "checkpoint-60"
    assert f"{JOB}-r1" not in watch.raw.jobs
    watch.clock.now += 60
    watch.look()
    assert watch.raw.read(f"runs/{JOB}/{JOB}-r1/") == {
        "checkpoint-60/model": b"60",
        "checkpoint-60/trainer_state.json": b"60",
    }
    assert watch.raw.jobs[f"{JOB}-r1"].requested["CheckpointConfig"]["S3Uri"].endswith(f"/runs/{JOB}/{JOB}-r1")
    assert watch.reported() == ["stop", "restart"]


@pytest.mark.parametrize("kind", ["before", "after"])
def test_wherever_a_run_crashes_the_result_is_the_same(
    watch: Watch, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = _end_of_nan(watch, None, kind)
    for number in range(80):
        run_crash = RunCrash(random.Random(0), 0)
        ended = _end_of_nan(Watch(monkeypatch), (run_crash, number), kind)
        assert {**ended, "messages": set(ended["messages"])} == {**wanted, "messages": set(wanted["messages"])}, number
        if run_crash.crashes == 0:
            assert number > 30
            return
    raise AssertionError("no end of the calls")


def _end_of_nan(watch: Watch, dies: tuple[RunCrash, int] | None, kind: str) -> dict[str, Any]:
    """Return the result after a divergence, when one of all calls crashes and each run is retried."""
    calls = 0

    def look() -> None:
        nonlocal calls
        while True:
            run_crash = dies[0] if dies else RunCrash(random.Random(0), 0)
            run_crash.calls = 0
            run_crash.at = dies[1] - calls if dies and run_crash.crashes == 0 else None
            run_crash.kind = kind
            try:
                watch.look(run_crash)
            except Crash:
                continue
            calls += run_crash.calls
            return

    look()
    if f"llm-fleet/day/{JOB}/nan" in watch.raw.alarms():
        watch.alarm("nan", minutes_ago=45)
    look()
    watch.job.move("Stopped", "Stopped", "")
    look()
    watch.clock.now = DAY_START + 9000
    look()
    item = {name: value for name, value in watch.item().items()}
    return {
        "item": item,
        "jobs": sorted(watch.raw.jobs),
        "messages": watch.reported(),
        "copy": watch.raw.read(f"runs/{JOB}/"),
    }


def test_the_sweep_finds_a_lost_event(watch: Watch) -> None:
    assert watch.sweep() == [JOB]
    watch.job.move("Failed", "Failed", "InternalServerError")
    watch.look()
    watch.queue.messages.clear()
    watch.clock.now += 3600
    assert watch.sweep() == [JOB]
    watch.look()
    assert f"{JOB}-r1" in watch.raw.jobs
    assert watch.sweep() == [f"{JOB}-r1"]


def test_a_job_that_ended_before_the_watch_existed_is_not_restarted(watch: Watch) -> None:
    watch.job.move("Failed", "Failed", "InternalServerError")
    watch.clock.now += 60
    assert watch.sweep() == []


def test_the_sweep_deletes_alarms_of_a_late_run(watch: Watch) -> None:
    watch.job.move("Completed", "Completed", "")
    watch.look()
    watch.raw.cloudwatch.put_metric_alarm(AlarmName=f"llm-fleet/day/{JOB}/nan")
    watch.raw.cloudwatch.put_metric_alarm(AlarmName=f"llm-fleet/other/{JOB}/nan")
    watch.sweep()
    assert list(watch.raw.alarms()) == [f"llm-fleet/other/{JOB}/nan"]


def _unlisted(parts: Parts) -> Parts:
    settings = replace(parts.deployed_environment.settings, prefixes=("else-",))
    return replace(parts, deployed_environment=replace(parts.deployed_environment, settings=settings))


@pytest.mark.parametrize("how", ["deleted", "given away", "its stack is gone"])
@pytest.mark.parametrize("decision", ["leave", "give_up"])
def test_the_record_of_a_job_that_is_no_longer_watched_is_closed(
    watch: Watch, how: str, decision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.look()
    if decision == "give_up":
        watch.job.move("Failed", "Failed", "InternalServerError")
        watch.look()
        watch.clock.now += 3600
    if how == "deleted":
        del watch.raw.jobs[JOB]
    elif how == "given away":
        watch.job.tags[0]["Value"] = "another"
    else:
        # The permission to describe the job was deleted with its stack.
        monkeypatch.setattr(watch.raw.sagemaker, "describe_training_job", _denied)
        monkeypatch.setattr(watch.day, "_parts", lambda run_crash, make=watch.day._parts: _unlisted(make(run_crash)))  # pyright: ignore
    assert watch.sweep() == [JOB]
    watch.look()
    assert (watch.item()["decision"], watch.reported()[-1], "open" in watch.item()) == (decision, decision, False)
    assert not watch.raw.alarms()
    assert watch.sweep() == []
    assert set(watch.raw.jobs) <= {JOB}


def _denied(*_: Any, **__: Any) -> None:
    raise rejected("AccessDeniedException")


def test_an_unreadable_job_does_not_end_the_sweep(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch.raw.sagemaker, "list_tags", _denied)
    assert watch.sweep() == [JOB]


def test_unfinished_jobs_are_checked_even_if_jobs_cannot_be_listed(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.look()
    monkeypatch.setattr(watch.raw.sagemaker, "get_paginator", _denied)
    with pytest.raises(ClientError):
        watch.sweep()
    assert [json.loads(message.body)["job"] for message in watch.queue.messages.values()][-1] == JOB


def test_the_queue_delays_a_back_off(watch: Watch) -> None:
    watch.job.move("Failed", "Failed", "InternalServerError")
    watch.look()
    message = next(iter(watch.queue.messages.values()))
    assert message.visible == watch.clock.now + 60
    assert json.loads(message.body) == {"kind": "look", "job": JOB, "again": True}


def _reject(watch: Watch, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    watch.job.move("Failed", "Failed", "InternalServerError")
    watch.look()
    watch.clock.now += 60

    def create(**_: Any) -> None:
        raise rejected(code)

    monkeypatch.setattr(watch.raw.sagemaker, "create_training_job", create)


def test_a_quota_error_is_retried_and_finally_given_up(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    _reject(watch, "ResourceLimitExceeded", monkeypatch)
    due: list[int] = []
    while watch.item()["decision"] == "restart":
        watch.look()
        due.append(int(watch.item()["due"]))
        watch.clock.now = due[-1]
    assert len(due) == MOST_TRIES + 1
    assert (due[1] - due[0], due[2] - due[1], due[10] - due[9]) == (120, 240, 3600)
    assert watch.reported() == ["restart", "give_up"]


def test_a_permanent_error_is_given_up_immediately(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    _reject(watch, "ValidationException", monkeypatch)
    watch.look()
    assert watch.item()["decision"] == "give_up"
    assert "ValidationException" in watch.item()["reason"]
    assert "open" not in watch.item()


def test_a_missing_permission_is_retried(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    _reject(watch, "AccessDeniedException", monkeypatch)
    for _ in range(5):
        watch.look()
        assert watch.item()["decision"] == "restart"
        watch.clock.now = int(watch.item()["due"])
    watch.look()
    assert watch.item()["decision"] == "give_up"


def test_only_the_failed_message_of_a_batch_is_redelivered(watch: Watch) -> None:
    event = as_event("SageMaker Training Job State Change", "", {"TrainingJobName": JOB})
    bodies = (event, "no JSON", "[]", '{"detail-type": "Other", "detail": {}}', '{"kind": "look"}', event)
    records = [{"messageId": f"m{number}", "body": body} for number, body in enumerate(bodies)]
    run_crash = RunCrash(random.Random(0), 0, at=0, kind="throttled")
    answer = serve(watch.parts(run_crash), {"Records": records})
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert watch.item()["open"] == "day"


def test_a_run_that_handles_no_message_is_an_error_that_lambda_counts(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {
        "WATCH": "day",
        "TABLE": "record",
        "QUEUE_URL": "https://queue",
        "TOPIC_ARN": "topic",
        "SETTINGS": "{}",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    run_crash = RunCrash(random.Random(0), 0, at=0, kind="throttled")
    monkeypatch.setattr(Clients, "make", lambda: watch.parts(run_crash).clients)
    context: Any = SimpleNamespace(get_remaining_time_in_millis=lambda: 600_000)
    good, bad = ({"messageId": name, "body": json.dumps({"kind": "look", "job": JOB})} for name in ("good", "bad"))
    assert handler({"Records": [bad, good]}, context) == {"batchItemFailures": [{"itemIdentifier": "bad"}]}
    assert handler({"Records": [good]}, context) == {"batchItemFailures": []}
    run_crash.calls, run_crash.at = 0, 0
    with pytest.raises(NothingServed):
        handler({"Records": [bad]}, context)


def test_a_single_message_raises_its_error(watch: Watch) -> None:
    client: Any = CrashingClient(watch.raw.dynamodb, RunCrash(random.Random(0), 0))
    assert client.get_item(Key={"job": {"S": "none"}}) == {}
    with pytest.raises(Exception, match="Rate exceeded"):
        watch.look(RunCrash(random.Random(0), 0, at=0, kind="throttled"))
