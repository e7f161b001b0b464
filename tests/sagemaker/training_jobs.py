"""Good training jobs, and their machine in the AWS emulator."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.rules.sagemaker.training_job import check_training_job
from llm_fleet.sagemaker.training_job_definition import render_machine
from llm_fleet.sagemaker.training_job_machine import MachinePlan, RunAlarm, WatchRecord, pace
from llm_fleet.sagemaker.training_job_request import JobPlace
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import Distribution, SourceBundle, TrainingImage
from llm_fleet.spec.training_job_data import Channel, Checkpoints, JobMetric
from llm_fleet_local.aws.client import LocalAws

PLACE = JobPlace(
    name="gpt2-20261122-093000-abcd",
    region="us-west-2",
    role_arn="arn:aws:iam::111122223333:role/gpt2",
    output_uri="s3://jobs/gpt2/output",
    source_uri="s3://jobs/gpt2/sourcedir.tar.gz",
    checkpoint_uri="s3://jobs/gpt2/checkpoints",
)


def arguments(directory: Path) -> dict[str, Any]:
    """Return the arguments of a valid spec, whose script is below `directory`."""
    return {
        "name": "gpt2",
        "image": TrainingImage.pytorch(),
        "source": SourceBundle(folder=directory / "train", entry_point="train.py"),
        "instance_type": "ml.g5.12xlarge",
        "instance_count": 2,
        "distribution": Distribution.torchrun(),
        "hyperparameters": {"epochs": 3, "learning-rate": 0.0001},
        "environment": {"NCCL_DEBUG": "WARN"},
        "channels": {"train": Channel(uri="s3://my-data/train")},
        "checkpoints": Checkpoints(),
        "metrics": {"loss": JobMetric(regex="loss=([0-9.]+)")},
    }


def spec(directory: Path, **changes: Any) -> TrainingJobSpec:
    """Return the valid spec with `changes`."""
    return TrainingJobSpec(**{**arguments(directory), **changes})


def problems(directory: Path, changes: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return the problems of the spec with these changes; the valid spec has none."""
    try:
        return tuple(check_training_job(spec(directory, **changes)))
    except FleetError as error:
        return error.problems


_T = TypeVar("_T")
TABLE = "decisions"
_PATIENCE_SECONDS = 60
REQUEST: dict[str, Any] = {
    "AlgorithmSpecification": {
        "TrainingImage": "111122223333.dkr.ecr.us-west-2.amazonaws.com/mine:1",
        "TrainingInputMode": "File",
    },
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"},
    "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    "HyperParameters": {"epochs": "1", "rate": "0.1"},
    "Environment": {"LEVEL": "info"},
    "CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints/", "LocalPath": "/opt/ml/checkpoints"},
    "Tags": [{"Key": "team", "Value": "llm"}],
}
ALARM = RunAlarm(
    suffix="train:loss-above",
    request={
        "Namespace": "/aws/sagemaker/TrainingJobs",
        "MetricName": "train:loss",
        "Statistic": "Average",
        "Period": 60,
        "EvaluationPeriods": 3,
        "ComparisonOperator": "GreaterThanThreshold",
        "Threshold": 5,
    },
)


class MachineOnAws:
    """A state machine, and operations of tests on it."""

    def __init__(self, aws: LocalAws, name: str, **plan: Any) -> None:
        """Create the machine `name` with its roles; `plan`: differences from `plan_of`."""
        self._aws = aws
        self.name = name
        job, machine = role(aws, f"{name}-job", "sagemaker"), role(aws, f"{name}-machine", "states")
        self.plan = plan_of(name, job, **plan)
        made = aws.client("stepfunctions").create_state_machine(
            name=name, definition=json.dumps(render_machine(self.plan)), roleArn=machine
        )
        self.arn: str = made["stateMachineArn"]

    def start(self, given: Any = None) -> str:
        """Start an execution."""
        return self._aws.run_machine(self.arn, given)

    def job(self, suffix: str = "") -> str:
        """Wait for a job whose name ends with `suffix`, or for any job; return its name."""
        wanted = f"{self.name}-{suffix}" if suffix else ""
        return self.until(lambda: next((name for name in self.jobs() if wanted in ("", name)), None))

    def jobs(self) -> list[str]:
        """Names of all jobs, in order."""
        found = self._aws.client("sagemaker").list_training_jobs(NameContains=f"{self.name}-")
        return sorted(job["TrainingJobName"] for job in found["TrainingJobSummaries"])

    def described(self, job: str) -> dict[str, Any]:
        """Return the service's description of a job."""
        return self._aws.client("sagemaker").describe_training_job(TrainingJobName=job)

    def move(self, job: str, status: str, *, secondary: str | None = None, reason: str = "") -> None:
        """Set the state of a job."""
        self._aws.move_training_job(job, status, secondary=secondary, reason=reason)

    def alarms(self) -> list[str]:
        """Names of the alarms of this machine's jobs."""
        found = self._aws.client("cloudwatch").describe_alarms(AlarmNamePrefix=f"{self.name}-")
        return [alarm["AlarmName"] for alarm in found["MetricAlarms"]]

    def end(self, execution: str) -> dict[str, Any]:
        """Wait for the end of an execution, and return it; its `output` as an object."""

        def over() -> dict[str, Any] | None:
            described = self._aws.client("stepfunctions").describe_execution(executionArn=execution)
            return None if described["status"] == "RUNNING" else described

        ended = self.until(over)
        return ended | {"output": json.loads(ended.get("output") or "null")}

    def states(self, execution: str) -> list[str]:
        """Names of the states that an execution entered, in order."""
        return [
            event["stateEnteredEventDetails"]["name"] for event in self.events(execution) if "Entered" in event["type"]
        ]

    def events(self, execution: str) -> list[dict[str, Any]]:
        """The history of an execution."""
        return self._aws.client("stepfunctions").get_execution_history(executionArn=execution)["events"]

    def until(self, found: Callable[[], _T | None]) -> _T:
        """Wait until `found` returns a value; fail with the server's last output if it does not."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not (value := found()):
            assert time.monotonic() < deadline, self._aws.server_log[-2000:]
            time.sleep(0.1)
        return value


def plan_of(name: str, role_arn: str, **other: Any) -> MachinePlan:
    """A plan with checkpoints and an alarm, two more attempts without capacity, and no watch."""
    watch: WatchRecord | None = other.get("watch")
    plan: dict[str, Any] = {
        "name": name,
        "partition": "aws",
        "request": {**REQUEST, "RoleArn": role_arn},
        "pace": pace(longest_seconds=90_000, attempts=3, alarms=1, watch=watch),
        "quota_attempts": 2,
        "capacity_waits": () if watch else (300, 600),
        "alarms": (ALARM,),
    }
    return MachinePlan(**(plan | other))


def role(aws: LocalAws, name: str, service: str) -> str:
    """A role that `service` can assume; permissions are tested with the deployed construct."""
    trust = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
    made = aws.client("iam").create_role(
        RoleName=name, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    )
    return made["Role"]["Arn"]
