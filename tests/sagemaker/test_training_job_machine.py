"""Every path through the state machine, in the interpreter of the AWS emulator."""

import re
from collections.abc import Generator
from typing import Any

import pytest

from llm_fleet.sagemaker.training_job_definition import render_machine
from llm_fleet.sagemaker.training_job_machine import EVENTS_OF_A_POLL, EVENTS_OF_AN_ASK, WatchRecord
from llm_fleet_local.aws.client import LocalAws
from tests.sagemaker.training_jobs import REQUEST, TABLE, MachineOnAws, plan_of, role

CAPACITY = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance"
)


@pytest.fixture(scope="module")
def aws() -> Generator[LocalAws]:
    with LocalAws() as running:
        running.shorten_waits(0.2)
        running.client("dynamodb").create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "job", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "job", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield running


@pytest.fixture(scope="module")
def plain(aws: LocalAws) -> MachineOnAws:
    """A machine without a watch."""
    return MachineOnAws(aws, "plain")


@pytest.fixture(scope="module")
def watched(aws: LocalAws) -> MachineOnAws:
    """A machine whose jobs are restarted by a watch."""
    return MachineOnAws(
        aws, "watched", watch=WatchRecord(table_name=TABLE, ask_seconds=60, asks_at_most=5, successors_at_most=2)
    )


def failure(machine: MachineOnAws, execution: str, error: str, *words: str) -> dict[str, Any]:
    """Wait for the end of a run that must fail with `error`, and leave no alarm behind."""
    ended = machine.end(execution)
    assert (ended["status"], ended["error"]) == ("FAILED", error), ended
    for word in words:
        assert word in ended["cause"]
    assert machine.alarms() == []
    return ended


def test_a_job_runs_from_start_to_end(aws: LocalAws, plain: MachineOnAws) -> None:
    execution = plain.start()
    job = plain.job()
    assert re.fullmatch(r"plain-\d{8}-\d{6}-[0-9a-f]{4}", job)
    described = plain.described(job)
    assert described["CheckpointConfig"] == {
        "S3Uri": f"s3://bucket/checkpoints/{job}/",
        "LocalPath": "/opt/ml/checkpoints",
    }
    assert described["HyperParameters"] == {"epochs": "1", "rate": "0.1"}
    assert described["Environment"] == {"LEVEL": "info", "LLM_FLEET_EXECUTION": execution}
    (alarm,) = aws.client("cloudwatch").describe_alarms(AlarmNamePrefix=job)["MetricAlarms"]
    assert alarm["AlarmName"] == f"{job}-train:loss-above"
    assert alarm["Dimensions"] == [{"Name": "TrainingJobName", "Value": job}]
    assert (alarm["MetricName"], alarm["Threshold"]) == ("train:loss", 5)
    for secondary in ("Training", "Interrupted", "Starting", "Training"):  # the states of a spot job
        plain.move(job, "InProgress", secondary=secondary)
    plain.move(job, "Completed")
    ended = plain.end(execution)
    assert ended["output"] == {
        "job": job,
        "run": job,
        "checkpoints": f"s3://bucket/checkpoints/{job}/",
        "model": f"s3://bucket/output/{job}/output/model.tar.gz",
    }
    assert plain.alarms() == []


def test_the_input_can_change_settings(plain: MachineOnAws) -> None:
    given = {"hyperparameters": {"rate": "0.5", "new": "x"}, "checkpoints": "s3://other/run/", "name_suffix": "trial"}
    execution = plain.start(given)
    job = plain.job("trial")
    assert job == "plain-trial"
    described = plain.described(job)
    assert described["HyperParameters"] == {"epochs": "1", "rate": "0.5", "new": "x"}
    assert described["CheckpointConfig"]["S3Uri"] == "s3://other/run/"
    plain.move(job, "Completed")
    assert plain.end(execution)["output"]["checkpoints"] == "s3://other/run/"


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ([1], "a JSON object"),
        ({"hyperparamters": {}}, "unknown key"),
        ({"hyperparameters": ["epochs"]}, "an object of strings"),
        ({"name_suffix": ""}, "must be a string"),
        ({"checkpoints": "checkpoint-3"}, "an S3 URI"),
    ],
)
def test_invalid_input_fails_before_a_job_is_created(plain: MachineOnAws, given: Any, word: str) -> None:
    before = plain.jobs()
    execution = plain.start(given)
    failure(plain, execution, "BadInput", word)
    assert plain.jobs() == before


def test_a_failed_job_fails_the_run_with_its_reason(plain: MachineOnAws) -> None:
    execution = plain.start({"name_suffix": "failed"})
    plain.move(plain.job("failed"), "Failed", reason="AlgorithmError: ExecuteUserScriptError: exit code 1")
    failure(plain, execution, "JobFailed", "plain-failed: AlgorithmError: ExecuteUserScriptError")


def test_an_image_of_another_region_is_rejected(aws: LocalAws) -> None:
    image = REQUEST["AlgorithmSpecification"]["TrainingImage"].replace("us-west-2", "us-east-1")
    algorithm = {**REQUEST["AlgorithmSpecification"], "TrainingImage": image}
    role_arn = role(aws, "far-training", "sagemaker")
    far = MachineOnAws(aws, "far", request={**REQUEST, "RoleArn": role_arn, "AlgorithmSpecification": algorithm})
    ended = far.end(far.start())
    assert ended["status"] == "FAILED"
    assert "provide the valid <region>.<dns-suffix>: 'us-west-2.amazonaws.com'" in ended["cause"]
    assert far.jobs() == []


def test_a_stopped_job_has_the_reason(plain: MachineOnAws) -> None:
    execution = plain.start({"name_suffix": "g-stopped"})
    plain.move(plain.job("g-stopped"), "Stopped", secondary="MaxRuntimeExceeded")
    failure(plain, execution, "JobStopped", "MaxRuntimeExceeded")


def test_without_capacity_another_job_resumes_from_the_same_checkpoints(plain: MachineOnAws) -> None:
    execution = plain.start({"name_suffix": "i-none"})
    first = plain.job("i-none")
    plain.move(first, "Failed", reason=CAPACITY)
    second = plain.job("i-none-2")
    assert second == f"{first}-2"
    assert plain.described(second)["CheckpointConfig"] == plain.described(first)["CheckpointConfig"]
    assert plain.alarms() == [f"{second}-train:loss-above"]
    plain.move(second, "Failed", reason=CAPACITY)
    third = plain.job("i-none-3")
    plain.move(third, "Failed", reason=CAPACITY)
    failure(plain, execution, "JobFailed", third, "CapacityError")
    assert [name for name in plain.jobs() if name.startswith("plain-i")] == [first, second, third]


def test_a_full_quota_and_throttling_are_retried(aws: LocalAws, plain: MachineOnAws) -> None:
    aws.refuse_training_jobs("ThrottlingException", times=2)
    aws.refuse_training_jobs("ResourceLimitExceeded", times=2)
    execution = plain.start({"name_suffix": "j-late"})
    plain.move(plain.job("j-late"), "Completed")
    assert plain.end(execution)["status"] == "SUCCEEDED"


def test_a_quota_that_stays_full_fails_the_run(aws: LocalAws, plain: MachineOnAws) -> None:
    aws.refuse_training_jobs("ResourceLimitExceeded", times=3)
    failure(plain, plain.start({"name_suffix": "k-full"}), "NotStarted", "plain-k-full")


def test_a_lost_response_causes_no_second_job_and_does_not_use_another_run_s_job(
    aws: LocalAws, plain: MachineOnAws
) -> None:
    aws.refuse_training_jobs("ThrottlingException", made=True)
    execution = plain.start({"name_suffix": "l-lost"})
    job = plain.job("l-lost")
    ended = plain.end(plain.start({"name_suffix": "l-lost"}))  # another run's job is left alone
    assert ended["error"] == "NameTaken"
    assert "plain-l-lost" in ended["cause"]
    plain.move(job, "Completed")
    assert plain.end(execution)["output"]["job"] == "plain-l-lost"


def decide(aws: LocalAws, job: str, **item: str) -> None:
    """Record the watch's decision about a job."""
    aws.client("dynamodb").put_item(
        TableName=TABLE, Item={"job": {"S": job}} | {key: {"S": value} for key, value in item.items()}
    )


def succeed(aws: LocalAws, machine: MachineOnAws, job: str, successor: str) -> None:
    """Start another job with the same settings, like the watch."""
    described = machine.described(job)
    kept = ("AlgorithmSpecification", "RoleArn", "OutputDataConfig", "ResourceConfig", "StoppingCondition")
    request = {key: described[key] for key in (*kept, "Environment", "HyperParameters", "CheckpointConfig")}
    aws.client("sagemaker").create_training_job(TrainingJobName=successor, **request)
    decide(aws, job, decision="restart", successor=successor, reason="it lost its node", created="1")


def test_a_watched_run_follows_the_watchs_job(aws: LocalAws, watched: MachineOnAws) -> None:
    execution = watched.start({"name_suffix": "a"})
    first = watched.job("a")
    watched.move(first, "Failed", reason="InternalServerError: We encountered an internal error")
    succeed(aws, watched, first, "watched-a-r1")
    watched.until(lambda: watched.alarms() == ["watched-a-r1-train:loss-above"])
    watched.move("watched-a-r1", "Completed")
    ended = watched.end(execution)
    assert (ended["output"]["job"], ended["output"]["run"]) == ("watched-a-r1", "watched-a")
    assert watched.jobs() == ["watched-a", "watched-a-r1"]
    assert watched.alarms() == []


def test_a_run_fails_if_the_watch_gives_up(aws: LocalAws, watched: MachineOnAws) -> None:
    execution = watched.start({"name_suffix": "b"})
    watched.move(watched.job("b"), "Failed", reason="AlgorithmError")
    decide(aws, "watched-b", decision="give_up", reason="it failed three times")
    failure(watched, execution, "JobNotRestarted", "AlgorithmError", "give_up: it failed three times")


def test_a_run_fails_if_the_decided_job_is_not_created(aws: LocalAws, watched: MachineOnAws) -> None:
    execution = watched.start({"name_suffix": "c"})
    watched.move(watched.job("c"), "Stopped")
    decide(aws, "watched-c", decision="restart", successor="watched-c-r1")
    ended = failure(watched, execution, "WatchSilent", "watched-c was stopped")
    assert "capacity" not in ended["cause"]


def test_a_run_fails_if_the_watch_does_not_decide(watched: MachineOnAws) -> None:
    execution = watched.start({"name_suffix": "d"})
    job = watched.job("d")
    watched.until(lambda: watched.states(execution).count("CountPoll") > 2)
    watched.move(job, "Failed", reason=CAPACITY)
    failure(watched, execution, "WatchSilent", "CapacityError")
    assert [name for name in watched.jobs() if name.startswith("watched-d")] == ["watched-d"]
    assert watched.states(execution).count("AskWatch") == 6
    events = watched.events(execution)  # the number that the pace assumes
    assert between(events, "WaitForJob") == EVENTS_OF_A_POLL
    assert between(events, "AskWatch") == EVENTS_OF_AN_ASK


def between(events: list[dict[str, Any]], state: str) -> int:
    """Events from one time that a state is entered to the next."""
    at = [
        index
        for index, event in enumerate(events)
        if "Entered" in event["type"] and event["stateEnteredEventDetails"]["name"] == state
    ]
    return at[2] - at[1]


def test_every_call_is_retried() -> None:
    """A throttled call must not end a run: otherwise the job's name would be treated as that of another run."""
    record = WatchRecord(table_name=TABLE, ask_seconds=60, asks_at_most=5, successors_at_most=2)
    for watch in (None, record):
        states = render_machine(plan_of("tried", "arn:aws:iam::111122223333:role/job", watch=watch))["States"]
        calls = {name: state for name, state in states.items() if state["Type"] == "Task"}
        assert len(calls) >= 7
        assert [name for name, state in calls.items() if not state.get("Retry")] == []
