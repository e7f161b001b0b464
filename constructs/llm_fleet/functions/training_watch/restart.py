"""The job that goes on from another: the same request, under its own name, from the right checkpoint."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from .job_facts import AFTER_TAG, ATTEMPT_TAG, ROOT_TAG, JobFacts, read_job

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient

CARRIED = (
    "AlgorithmSpecification",
    "CheckpointConfig",
    "DebugHookConfig",
    "DebugRuleConfigurations",
    "EnableInterContainerTrafficEncryption",
    "EnableManagedSpotTraining",
    "EnableNetworkIsolation",
    "Environment",
    "ExperimentConfig",
    "HyperParameters",
    "InfraCheckConfig",
    "InputDataConfig",
    "MlflowConfig",
    "ModelPackageConfig",
    "OutputDataConfig",
    "ProfilerConfig",
    "ProfilerRuleConfigurations",
    "RemoteDebugConfig",
    "ResourceConfig",
    "RetryStrategy",
    "RoleArn",
    "ServerlessJobConfig",
    "StoppingCondition",
    "TensorBoardOutputConfig",
    "VpcConfig",
)
"""Every member of CreateTrainingJob's request that DescribeTrainingJob tells; not told is SessionChainingConfig."""
TOLD_ONLY = {"ResourceConfig": ("SelectedInstanceType", "SelectedInstanceCount")}
"""Fields that are "read-only and not accepted in CreateTrainingJob requests"."""
MORE_LATER = ("ResourceLimitExceeded", "ThrottlingException", "Throttling", "ServiceUnavailable", "InternalFailure")
"""What CreateTrainingJob answers when it may succeed later: quotas, and what passes."""
TAKEN = "ResourceInUse"
_LONGEST_LIST_OF_TAGS = 50


class NameTaken(Exception):
    """There is a job of the successor's name, and it is somebody else's."""


def restart_request(facts: JobFacts, successor: str, checkpoint_uri: str | None) -> dict[str, Any]:
    """Return CreateTrainingJob's request; `checkpoint_uri` replaces the place of the checkpoints, if there is one."""
    request = {name: facts.description[name] for name in CARRIED if facts.description.get(name) not in (None, {}, [])}
    for name, fields in TOLD_ONLY.items():
        if name in request:
            request[name] = {key: value for key, value in request[name].items() if key not in fields}
    if checkpoint_uri is not None:
        request["CheckpointConfig"] = {**request["CheckpointConfig"], "S3Uri": checkpoint_uri}
    tags = _tags(facts)
    return {
        **request,
        "TrainingJobName": successor,
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }


def create(sagemaker: "SageMakerClient", facts: JobFacts, request: Mapping[str, Any]) -> None:
    """Create the successor; when a redelivered message has created it already, that is as good.

    Raises `NameTaken` when the name is somebody else's, and what the service answers otherwise.
    """
    try:
        sagemaker.create_training_job(**request)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != TAKEN:
            raise
        there = read_job(sagemaker, request["TrainingJobName"])
        if there is None or there.tags.get(AFTER_TAG) != facts.name:
            raise NameTaken(f"there is a training job {request['TrainingJobName']} that is not this one's") from error


def _tags(facts: JobFacts) -> dict[str, str]:
    own = {AFTER_TAG: facts.name, ATTEMPT_TAG: str(facts.attempt + 1), ROOT_TAG: facts.root}
    others = {key: value for key, value in facts.tags.items() if not key.startswith("aws:") and key not in own}
    # The user's tags give way, the last first, when a resource's 50 are not enough: without ours the line is lost.
    kept = list(others.items())[: _LONGEST_LIST_OF_TAGS - len(own)]
    return {**dict(kept), **own}
