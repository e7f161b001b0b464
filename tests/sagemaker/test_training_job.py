"""Training jobs: resources of the construct, and rules of their runs."""

import gzip
import json
import re
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Match, Template

from llm_fleet import (
    Channel,
    Checkpoints,
    Distribution,
    JobMetric,
    SourceBundle,
    TrainingImage,
    TrainingJob,
    TrainingJobSpec,
    TrainingWatch,
    WarmPool,
)
from llm_fleet.catalog.training_job import job_machine_fact
from llm_fleet.notifications.alarm_topic import AlarmTopic
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import FleetError, raise_problems
from llm_fleet.rules.sagemaker.training_job import check_capacity_retries, check_job_schedule
from llm_fleet.sagemaker.training_job_machine import (
    EVENTS_OF_A_POLL,
    EVENTS_OF_AN_ASK,
    longest_seconds,
    pace,
    watch_record,
)
from llm_fleet.sagemaker.training_job_request import pack
from llm_fleet.spec.training_job import CapacityRetries, JobSchedule
from tests.clean import nag_findings


def spec(folder: Path, **other: Any) -> TrainingJobSpec:
    """A job with most features."""
    (folder / "train.py").write_text("print('loss=1')\n")
    given: dict[str, Any] = {
        "name": "llama",
        "image": TrainingImage.pytorch(),
        "source": SourceBundle(folder=folder, entry_point="train.py"),
        "instance_type": "ml.g5.12xlarge",
        "instance_count": 2,
        "distribution": Distribution.torchrun(),
        "channels": {"train": Channel(uri="s3://my-data/train")},
        "checkpoints": Checkpoints(),
        "metrics": {"train:loss": JobMetric(regex="loss=([0-9.]+)", above=5.0)},
        "warm_pool": WarmPool(keep_alive_seconds=600, cap_seconds=1800),
        "remote_debug": True,
    }
    return TrainingJobSpec(**(given | other))


def machine(template: Template) -> dict[str, Any]:
    """Return the definition, with each reference as `<logical id>`."""
    (found,) = template.find_resources("AWS::StepFunctions::StateMachine").values()
    parts = found["Properties"]["DefinitionString"]["Fn::Join"][1]
    return json.loads("".join(part if isinstance(part, str) else f"<{next(iter(part.values()))}>" for part in parts))


def statements(template: Template, sid: str) -> list[dict[str, Any]]:
    """Statements of all managed policies, by their sid."""
    policies = template.find_resources("AWS::IAM::ManagedPolicy").values()
    every = [one for policy in policies for one in policy["Properties"]["PolicyDocument"]["Statement"]]
    return [one for one in every if one.get("Sid") == sid]


def test_nag_finds_nothing(stack: cdk.Stack, app: cdk.App, tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    job = TrainingJob(
        stack,
        "Job",
        job=spec(folder, schedule=JobSchedule(expression="rate(7 days)", hyperparameters={"epochs": "2"})),
        alarm_topic=AlarmTopic(stack, "Topic"),
    )
    people = iam.Role(stack, "People", assumed_by=iam.AccountRootPrincipal())  # pyright: ignore[reportArgumentType]
    assert job.warm_pool_cap is not None
    people.add_managed_policy(job.warm_pool_cap.policy)  # pyright: ignore[reportArgumentType]
    assert nag_findings(app) == []


def test_the_machine_has_the_request_and_the_jobs_alarm(stack: cdk.Stack, tmp_path: Path) -> None:
    TrainingJob(stack, "Job", job=spec(tmp_path), alarm_topic=AlarmTopic(stack, "Topic"))
    states = machine(Template.from_stack(stack))["States"]
    create_job = states["CreateJob"]["Parameters"]
    assert create_job["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 600
    assert create_job["CheckpointConfig"] == {"LocalPath": "/opt/ml/checkpoints", "S3Uri.$": "$.checkpoints.uri"}
    assert "TrainingJobName" not in create_job
    (topic,) = states["PutAlarm0"]["Parameters"]["AlarmActions"]
    assert topic.startswith("<Topic")
    assert states["ReadInput"]["Parameters"]["place"]["waits"] == [300, 600, 1200, 2400, 3600]


def test_its_role_can_access_only_the_given_resources(stack: cdk.Stack, tmp_path: Path) -> None:
    TrainingJob(stack, "Job", job=spec(tmp_path, remote_debug=False))
    template = Template.from_stack(stack)
    (read,) = statements(template, "Read0Objects")
    assert read["Resource"] == "arn:aws:s3:::my-data/train/*"
    assert len(statements(template, "Write0Objects")) == len(statements(template, "Write1Objects")) == 1
    assert statements(template, "Shell") == statements(template, "NetworkInterfaces") == []
    (source,) = statements(template, "Source")
    assert source["Action"] == "s3:GetObject"
    assert "*" not in json.dumps(source["Resource"])
    (images,) = statements(template, "Images")
    assert "repository/pytorch-training" in json.dumps(images["Resource"])


def test_the_machine_can_start_only_its_own_jobs_with_their_role(stack: cdk.Stack, tmp_path: Path) -> None:
    TrainingJob(stack, "Job", job=spec(tmp_path))
    template = Template.from_stack(stack)
    (jobs,) = statements(template, "Jobs")
    assert jobs["Resource"] == "arn:aws:sagemaker:us-west-2:111122223333:training-job/llama-*"
    (passed,) = statements(template, "JobRole")
    assert passed["Condition"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    assert "sagemaker:StopTrainingJob" not in json.dumps(template.to_json())


def test_the_cap_denies_longer_warm_pools(stack: cdk.Stack, tmp_path: Path) -> None:
    TrainingJob(stack, "Job", job=spec(tmp_path))
    (cap,) = statements(Template.from_stack(stack), "WarmPoolCap")
    assert (cap["Effect"], cap["Condition"]) == ("Deny", {"NumericGreaterThan": {"sagemaker:KeepAlivePeriod": "1800"}})


def test_grants_to_start_and_to_debug(stack: cdk.Stack, tmp_path: Path) -> None:
    job = TrainingJob(stack, "Job", job=spec(tmp_path))
    person = iam.User(stack, "Person")
    granted = cast(iam.IGrantable, person)
    job.grant_start(granted).assert_success()
    job.grant_debug(granted).assert_success()
    target = {"StringLike": {"ssm:resourceTag/aws:ssmmessages:target-id": ["sagemaker-training-job:llama-*"]}}
    Template.from_stack(stack).has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [Match.object_like({"Action": Match.array_with(["ssm:StartSession"]), "Condition": target})]
                )
            }
        },
    )


def test_grant_stop_allows_both_spellings_of_arns(stack: cdk.Stack, tmp_path: Path) -> None:
    """assumption: sagemaker-arns-in-small-letters"""
    person = iam.User(stack, "Person")
    TrainingJob(stack, "Job", job=spec(tmp_path, name="Llama")).grants.stop(cast(iam.IGrantable, person))
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    stops = [one for found in policies for one in found["Properties"]["PolicyDocument"]["Statement"]]
    (stop,) = [one for one in stops if "sagemaker:StopTrainingJob" in one["Action"]]
    assert re.findall(r"training-job/[^\"]+", json.dumps(stop["Resource"])) == [
        "training-job/Llama-*",
        "training-job/llama-*",
    ]


def test_a_grant_of_a_shell_requires_remote_debugging(stack: cdk.Stack, tmp_path: Path) -> None:
    job = TrainingJob(stack, "Job", job=spec(tmp_path, remote_debug=False))
    with pytest.raises(FleetError, match="LF974"):
        job.grant_debug(cast(iam.IGrantable, iam.User(stack, "Person")))
    assert job.shell_command is None


def test_arguments_of_the_wrong_class_are_reported_together(stack: cdk.Stack) -> None:
    wrong: Any = {"job": "llama", "network": "vpc-1"}
    with pytest.raises(FleetError) as error:
        TrainingJob(stack, "Job", **wrong)
    assert {problem.path[0] for problem in error.value.problems} == set(wrong)


def test_a_channel_on_lustre_requires_a_network(stack: cdk.Stack, tmp_path: Path) -> None:
    data = Channel(file_system_id="fs-0123456789abcdef0", directory="/abc/data")
    with pytest.raises(FleetError, match="network"):
        TrainingJob(stack, "Job", job=spec(tmp_path, channels={"train": data}))


def test_errors_in_the_job_and_in_its_dependencies_are_reported_together(stack: cdk.Stack, tmp_path: Path) -> None:
    data = Channel(file_system_id="fs-0123456789abcdef0", directory="/abc/data")
    with pytest.raises(FleetError) as raised:
        TrainingJob(stack, "Job", job=spec(tmp_path, instance_count=0, channels={"train": data}))
    assert {problem.code.value for problem in raised.value.problems} == {"LF971", "LF903"}


def test_a_stack_without_a_region_cannot_choose_an_image(app: cdk.App, tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="LF960"):
        TrainingJob(cdk.Stack(app, "Anywhere"), "Job", job=spec(tmp_path))


def test_a_schedule_passes_its_changed_input(stack: cdk.Stack, tmp_path: Path) -> None:
    schedule = JobSchedule(expression="rate(1 day)", enabled=False, hyperparameters={"epochs": "9"})
    job = spec(tmp_path, schedule=schedule, capacity_retries=CapacityRetries(attempts=0))
    TrainingJob(stack, "Job", job=job)
    template = Template.from_stack(stack)
    expected = {"State": "DISABLED", "Target": {"Input": '{"hyperparameters": {"epochs": "9"}}'}}
    template.has_resource_properties("AWS::Scheduler::Schedule", expected)
    assert "CapacityPause" not in machine(template)["States"]


def test_the_archive_has_the_same_bytes_everywhere() -> None:
    contents = {"train.py": b"print(1)", "lib/a.py": b""}
    assert pack(contents, {"train.py"}) == pack(dict(reversed(contents.items())), {"train.py"})
    assert gzip.decompress(pack(contents, set())) != gzip.decompress(pack(contents, {"train.py"}))


def test_roles_that_start_jobs_on_a_training_plan_can_use_the_plan(tmp_path: Path) -> None:
    """CreateTrainingJob needs permissions on the plan and on reserved capacity, too, for machine and watch."""
    plan = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/ours"
    stack = cdk.Stack(cdk.App(), "Plan", env=cdk.Environment(account="111122223333", region="us-west-2"))
    job = spec(tmp_path, training_plan_arn=plan, warm_pool=None)
    TrainingJob(stack, "Job", job=job, watch=TrainingWatch(stack, "Watch", name="fleet"))
    template = Template.from_stack(stack)
    for sid in ("TrainingPlan", "TrainingPlanLlama"):
        (statement,) = statements(template, sid)
        assert statement["Action"] == "sagemaker:CreateTrainingJob"
        own, reserved = statement["Resource"]
        assert own == plan
        assert "reserved-capacity/*" in str(reserved)


@pytest.mark.parametrize(
    "expression", ["cron(0 3 ? * SUN *)", "rate(1 hour)", "rate(7 days)", "at(2026-12-24T03:00:00)", "${Token[x.1]}"]
)
def test_schedules_of_the_service_pass(expression: str) -> None:
    assert JobSchedule(expression=expression).expression == expression


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"expression": "every sunday"}, "must be cron"),
        ({"expression": "cron(0 3 * * SUN *)"}, "must have \\? in exactly one"),
        ({"expression": "0 3 * * *"}, "must be cron"),
        ({"expression": "rate(0 days)"}, "must have a number above 0"),
        ({"expression": "rate(7 weeks)"}, "the unknown unit `weeks`"),
        ({"expression": "rate(seven days)"}, "must have a number and a unit"),
        ({"expression": "at(tomorrow)"}, "must have a date and time"),
        ({"expression": "at(2026-02-30T03:00:00)"}, "an invalid date or time"),
        ({"expression": "rate(1 day)", "time_zone": "Vienna"}, "unknown time zone"),
        ({"expression": "rate(1 day)", "hyperparameters": {"epochs": 3}}, "be text"),
    ],
)
def test_other_schedules_are_reported(given: dict[str, Any], word: str) -> None:
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
def test_other_attempts_are_reported(given: dict[str, Any]) -> None:
    retries = CapacityRetries(**given)
    (problem,) = [*check_fields(retries), *check_capacity_retries(retries)]
    assert problem.code == "LF973"


def test_a_number_of_attempts_is_a_number() -> None:
    with pytest.raises(FleetError, match="LF113"):
        CapacityRetries(attempts=True)


@pytest.mark.parametrize("days", [1, 5, 28])
@pytest.mark.parametrize("answer_seconds", [None, 10_800, 90_000])
def test_the_history_is_within_the_limit_of_the_service(days: int, answer_seconds: int | None) -> None:
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


def test_the_poll_interval_is_about_a_minute_for_a_day_and_longer_for_a_month() -> None:
    def seconds(days: int) -> int:
        horizon = longest_seconds(run_seconds=days * 86_400, pending_seconds=0, watched=False)
        return pace(longest_seconds=horizon, attempts=6, alarms=1, watch=None).poll_seconds

    assert (seconds(1), seconds(28)) == (60, 1135)
