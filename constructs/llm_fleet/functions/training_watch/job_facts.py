"""What is so about a training job, as the service tells it now: events may be late, reordered or doubled."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient

ROOT_TAG = "llm-fleet:root"
ATTEMPT_TAG = "llm-fleet:attempt"
AFTER_TAG = "llm-fleet:after"
_NOT_FOUND = ("ResourceNotFound", "ValidationException", "ValidationError")
"""DescribeTrainingJob answers a name that is not there with ValidationException: "Requested resource not found."."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """A job and its place in a line of restarts."""

    description: Mapping[str, Any]
    """DescribeTrainingJob's answer."""
    tags: Mapping[str, str]

    @property
    def name(self) -> str:
        """Its name."""
        return self.description["TrainingJobName"]

    @property
    def root(self) -> str:
        """Name of the first job of its line: its own, when it is no restart."""
        return self.tags.get(ROOT_TAG, self.name)

    @property
    def attempt(self) -> int:
        """How many restarts led to it."""
        text = self.tags.get(ATTEMPT_TAG, "0")
        return int(text) if text.isdigit() else 0

    @property
    def status(self) -> str:
        """InProgress, Completed, Failed, Stopping, Stopped or Deleting."""
        return self.description["TrainingJobStatus"]

    @property
    def secondary(self) -> str:
        """E.g. Training, Uploading, MaxRuntimeExceeded."""
        return self.description.get("SecondaryStatus", "")

    @property
    def failure(self) -> str:
        """Why it failed, in the service's words; empty when it did not."""
        return self.description.get("FailureReason", "")

    @property
    def ended(self) -> bool:
        """Whether nothing will happen to it any more."""
        return self.status in ("Completed", "Failed", "Stopped")

    @property
    def training_since(self) -> float | None:
        """When training began, or began anew after an interruption, in seconds since 1970."""
        began: list[datetime] = [
            step["StartTime"]
            for step in self.description.get("SecondaryStatusTransitions", ())
            if step["Status"] == "Training" and "StartTime" in step
        ]
        began += [time for time in (self.description.get("TrainingStartTime"),) if time]
        return max(began).timestamp() if began else None

    @property
    def checkpoint_uri(self) -> str | None:
        """Where its checkpoints are kept, without a slash at the end."""
        uri = self.description.get("CheckpointConfig", {}).get("S3Uri")
        return uri.rstrip("/") if uri else None

    @property
    def metrics(self) -> frozenset[str]:
        """Names of the metrics that are taken from its log."""
        algorithm = self.description.get("AlgorithmSpecification", {})
        return frozenset(metric["Name"] for metric in algorithm.get("MetricDefinitions", ()))


def read_job(sagemaker: "SageMakerClient", name: str) -> JobFacts | None:
    """Return what is so about a job, or nothing when there is none of that name."""
    try:
        answer = sagemaker.describe_training_job(TrainingJobName=name)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _NOT_FOUND:
            return None
        raise
    tags = read_tags(sagemaker, answer["TrainingJobArn"])
    return JobFacts(description=cast(Mapping[str, Any], answer), tags=tags)


def read_tags(sagemaker: "SageMakerClient", arn: str) -> dict[str, str]:
    """Return a job's tags; at most 50, so one page holds them."""
    return {tag["Key"]: tag["Value"] for tag in sagemaker.list_tags(ResourceArn=arn, MaxResults=100)["Tags"]}
