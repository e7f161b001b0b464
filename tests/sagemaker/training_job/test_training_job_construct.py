"""The construct: what it makes, of which rights, and what every checker says of it."""

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
    CapacityRetries,
    Channel,
    Checkpoints,
    Distribution,
    JobMetric,
    JobSchedule,
    SourceBundle,
    TrainingImage,
    TrainingJob,
    TrainingJobSpec,
    TrainingWatch,
    WarmPool,
)
from llm_fleet.notifications.alarm_topic import AlarmTopic
from llm_fleet.rules.problem import FleetError
from llm_fleet.sagemaker.training_job.source_archive import pack
from tests.clean import nag_findings


def spec(folder: Path, **other: Any) -> TrainingJobSpec:
    """A job that uses most of what there is."""
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
    """The definition, with each reference as `<logical id>`."""
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
    asked = states["CreateJob"]["Parameters"]
    assert asked["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 600
    assert asked["CheckpointConfig"] == {"LocalPath": "/opt/ml/checkpoints", "S3Uri.$": "$.checkpoints.uri"}
    assert "TrainingJobName" not in asked
    (told,) = states["PutAlarm0"]["Parameters"]["AlarmActions"]
    assert told.startswith("<Topic")
    assert states["ReadInput"]["Parameters"]["place"]["waits"] == [300, 600, 1200, 2400, 3600]


def test_its_role_reaches_what_it_was_given_and_no_more(stack: cdk.Stack, tmp_path: Path) -> None:
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


def test_the_machine_starts_its_own_jobs_with_their_role_alone(stack: cdk.Stack, tmp_path: Path) -> None:
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


def test_people_may_start_and_debug_it(stack: cdk.Stack, tmp_path: Path) -> None:
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


def test_who_may_stop_jobs_may_do_so_however_their_arns_are_spelled(stack: cdk.Stack, tmp_path: Path) -> None:
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


def test_a_shell_in_a_job_that_has_none_is_told(stack: cdk.Stack, tmp_path: Path) -> None:
    job = TrainingJob(stack, "Job", job=spec(tmp_path, remote_debug=False))
    with pytest.raises(FleetError, match="LF974"):
        job.grant_debug(cast(iam.IGrantable, iam.User(stack, "Person")))
    assert job.shell_command is None


def test_arguments_of_the_wrong_class_are_told_together(stack: cdk.Stack) -> None:
    wrong: Any = {"job": "llama", "network": "vpc-1"}
    with pytest.raises(FleetError) as told:
        TrainingJob(stack, "Job", **wrong)
    assert {problem.path[0] for problem in told.value.problems} == set(wrong)


def test_a_channel_on_lustre_needs_a_network(stack: cdk.Stack, tmp_path: Path) -> None:
    data = Channel(file_system_id="fs-0123456789abcdef0", directory="/abc/data")
    with pytest.raises(FleetError, match="network"):
        TrainingJob(stack, "Job", job=spec(tmp_path, channels={"train": data}))


def test_what_is_wrong_with_the_job_and_with_its_place_is_reported_together(stack: cdk.Stack, tmp_path: Path) -> None:
    data = Channel(file_system_id="fs-0123456789abcdef0", directory="/abc/data")
    with pytest.raises(FleetError) as raised:
        TrainingJob(stack, "Job", job=spec(tmp_path, instance_count=0, channels={"train": data}))
    assert {problem.code.value for problem in raised.value.problems} == {"LF971", "LF903"}


def test_a_stack_without_a_region_cannot_choose_among_images(app: cdk.App, tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="LF960"):
        TrainingJob(cdk.Stack(app, "Anywhere"), "Job", job=spec(tmp_path))


def test_a_schedule_hands_over_what_is_otherwise(stack: cdk.Stack, tmp_path: Path) -> None:
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


def test_who_starts_jobs_on_a_training_plan_may_use_the_plan(tmp_path: Path) -> None:
    """CreateTrainingJob is asked on the plan and on reserved capacity as well, of the machine and of the watch."""
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
