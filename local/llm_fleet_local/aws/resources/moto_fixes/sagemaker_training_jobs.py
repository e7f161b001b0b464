"""Training jobs are in progress until a test changes that, keep every field, and have unique names.

In moto a job is complete when it is created, keeps a third of its fields, and replaces a job with the same name.
Nothing trains here: a test changes the status with `LocalAws.move_training_job`.

Source: model botocore sagemaker StopTrainingJob
"""

import re
from time import time
from typing import Any

from moto.iam.models import iam_backends
from moto.sagemaker.models import FakeTrainingJob
from moto.sagemaker.responses import SageMakerResponse
from moto.utilities.utils import get_partition

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation, known_members

_INVALID = "ValidationException"
_ECR = re.compile(r"\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.(?P<suffix>[a-z.]+)/")
_OVER = ("Completed", "Failed", "Stopped")
_rejections: list[dict[str, Any]] = []
"""Errors that CreateTrainingJob returns next."""


def install() -> None:
    """Replace moto's operations on training jobs; list and tags are still moto's."""
    for operation, handler in (
        ("CreateTrainingJob", _create),
        ("DescribeTrainingJob", _describe),
        ("StopTrainingJob", _stop),
        ("ListTrainingJobs", _list),
    ):
        install_operation(SageMakerResponse, "sagemaker", operation, handler, invalid=_INVALID)


class TrainingJob:
    """One job: the request and the current state."""

    def __init__(self, requested: dict[str, Any], arn: str) -> None:
        """Start it."""
        self.requested = {key: value for key, value in requested.items() if key != "Tags"}
        self.arn = arn
        self.tags: list[dict[str, str]] = list(requested.get("Tags", ()))
        now = time()
        self.reported: dict[str, Any] = {"CreationTime": now, "LastModifiedTime": now, "SecondaryStatusTransitions": []}
        self.move("InProgress", "Starting", "")

    def move(self, status: str, secondary: str, reason: str) -> None:
        """Change the status, and the fields that the service returns with it."""
        now = time()
        transitions: list[dict[str, Any]] = self.reported["SecondaryStatusTransitions"]
        if transitions:
            transitions[-1]["EndTime"] = now
        transitions.append({"Status": secondary, "StartTime": now, "StatusMessage": reason or secondary})
        self.reported |= {"TrainingJobStatus": status, "SecondaryStatus": secondary, "LastModifiedTime": now}
        if secondary == "Training":
            self.reported.setdefault("TrainingStartTime", now)
        if status in _OVER:
            self.reported["TrainingEndTime"] = now
        if status == "Failed":
            self.reported["FailureReason"] = reason
        if status == "Completed":
            place = str(self.requested["OutputDataConfig"]["S3OutputPath"]).rstrip("/")
            artifacts = f"{place}/{self.requested['TrainingJobName']}/output/model.tar.gz"
            self.reported["ModelArtifacts"] = {"S3ModelArtifacts": artifacts}

    def describe(self) -> dict[str, Any]:
        """Return DescribeTrainingJob's response."""
        everything = {**self.requested, **self.reported, "TrainingJobArn": self.arn}
        return known_members("sagemaker", "DescribeTrainingJobResponse", everything)


def move_training_job(account: str, region: str, requested: dict[str, Any]) -> dict[str, Any]:
    """Change the status of the job `requested["name"]`; returns DescribeTrainingJob's new response."""
    from moto.sagemaker.models import sagemaker_backends

    job: Any = sagemaker_backends[account][region].training_jobs.get(requested["name"])
    if job is None:
        raise KeyError(f"unknown training job {requested['name']}")
    job.move(requested["status"], requested.get("secondary") or requested["status"], requested.get("reason", ""))
    return job.describe()


def refuse_training_jobs(requested: dict[str, Any]) -> None:
    """Make CreateTrainingJob fail `times` times with the error `code`; `made`: the job is created anyway."""
    _rejections.extend([requested] * requested["times"])


def _jobs(response: Any) -> dict[str, Any]:
    return response.sagemaker_backend.training_jobs


def _create(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    name, account, region = params["TrainingJobName"], response.current_account, response.region
    # Source: model botocore sagemaker CreateTrainingJobRequest (TrainingJobName)
    # Source: model botocore sagemaker CreateTrainingJob (ResourceInUse)
    # Source: assumption service-error-texts
    if name in _jobs(response):
        raise Rejected("ResourceInUse", f"Training job names must be unique within an AWS account and region: {name}")
    roles = iam_backends[account][get_partition(region)].roles.values()
    found = next((role for role in roles if role.arn == params["RoleArn"]), None)
    # Source: assumption sagemaker-training-job-refusals
    # Source: recorded awslabs/predictive-maintenance-using-machine-learning#3, text of the error (2019-10-06)
    if found is None or "sagemaker.amazonaws.com" not in str(found.assume_role_policy_document):
        raise Rejected(_INVALID, f"Could not assume role {params['RoleArn']}. Please ensure that the role exists and "
                      "allows principal 'sagemaker.amazonaws.com' to assume the role.")  # fmt: skip
    _check_image(params, region)
    rejection = _rejections.pop(0) if _rejections else None
    # Source: emulation, a test sets this error and the next one
    if rejection and not rejection["made"]:
        raise Rejected(rejection["code"], f"{name} was not created: a test set this error")
    job = TrainingJob(params, FakeTrainingJob.arn_formatter(name, account, region))
    _jobs(response)[name] = job
    if rejection:
        raise Rejected(rejection["code"], f"{name} was created, and the response was lost: a test set this error")
    return {"TrainingJobArn": job.arn}


def _check_image(params: dict[str, Any], region: str) -> None:
    """Reject an image in another Region's registry.

    Source: recorded https://github.com/aws-samples/mlops-amazon-sagemaker/issues/9
    """
    found = _ECR.search(str(params.get("AlgorithmSpecification", {}).get("TrainingImage", "")))
    if found is not None and found["region"] != region:
        suffix = found["suffix"]
        raise Rejected(_INVALID, f"Invalid DNS suffix '{suffix}' for region '{found['region']}' in training image. "
                      f"Please provide the valid <region>.<dns-suffix>: '{region}.{suffix}'")  # fmt: skip


def _describe(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    return _job(response, params["TrainingJobName"]).describe()


def _stop(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    job = _job(response, params["TrainingJobName"])
    if job.reported["TrainingJobStatus"] in _OVER:
        # Source: assumption sagemaker-training-job-refusals
        raise Rejected(_INVALID, "The request was rejected because the training job is in status "
                      f"{job.reported['TrainingJobStatus']}.")  # fmt: skip
    job.move("Stopping", "Stopping", "")
    return {}


def _list(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    """List jobs, newest first, filtered by name, status and last change; without pages."""
    part, status = params.get("NameContains", ""), params.get("StatusEquals")
    after = params.get("LastModifiedTimeAfter", 0)
    jobs = [
        job.describe()
        for name, job in reversed(list(_jobs(response).items()))  # other threads may create some meanwhile
        if part in name
        and status in (None, job.reported["TrainingJobStatus"])
        and job.reported["LastModifiedTime"] >= after
    ]
    return {"TrainingJobSummaries": [known_members("sagemaker", "TrainingJobSummary", job) for job in jobs]}


def _job(response: Any, name: str) -> Any:
    found = _jobs(response).get(name)
    if found is None:
        # Source: recorded aws/aws-sdk#165, the code of the error (2022-01-07)
        # Source: recorded aws/amazon-sagemaker-examples#2360, text of the error (2021-05-13)
        raise Rejected(_INVALID, "Requested resource not found.")
    return found
