"""Where a training job keeps its checkpoints, its results and the record of its experiment."""

from collections.abc import Iterator

from llm_fleet.catalog.training_job import training_job_limit
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.s3_place import check_s3_place
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_data import Checkpoints, Tracking

_ML = "/opt/ml/"
_SERVICES = ("/opt/ml/input", "/opt/ml/model", "/opt/ml/output", "/opt/ml/code", "/opt/ml/failure")
"""What SageMaker fills or carries away itself (Developer Guide, model-train-storage)."""


def check_places(job: TrainingJobSpec) -> list[Problem]:
    """Return what is wrong with the places, by the attributes of the job."""
    output, checkpoints, tracking = job.output, job.checkpoints, job.tracking
    found: list[Problem] = []
    if checkpoints is not None:
        found += [problem.under("checkpoints") for problem in _checkpoints(checkpoints)]
    if output.uri is not None:
        place = check_s3_place(output.uri, SageMakerCode.TRAINING_PLACE, "uri", what="the results' place")
        found += [problem.under("output") for problem in place]
    return [*found, *([] if tracking is None else _tracking(tracking))]


def _checkpoints(checkpoints: Checkpoints) -> Iterator[Problem]:
    if checkpoints.uri is not None:
        yield from check_s3_place(checkpoints.uri, SageMakerCode.TRAINING_PLACE, "uri", what="the checkpoints' place")
    path = checkpoints.local_path
    limit = training_job_limit("CheckpointConfig.LocalPath")
    if is_unresolved(path):
        return
    if not path.startswith("/") or not limit.holds(len(path)) or path.rstrip("/") in ("", "/opt", "/opt/ml"):
        yield _local("this is no folder of the container", path)
    elif any(path.rstrip("/") == each or path.startswith(f"{each}/") for each in _SERVICES):
        yield _local(f"SageMaker uses {path} for something else", path)


def _local(message: str, path: str) -> Problem:
    return Problem(
        code=SageMakerCode.TRAINING_PLACE,
        message=message,
        remedy=f"write {_ML}checkpoints, or leave it out, which is the same",
        path=("local_path",),
        value=path,
    )


def _tracking(tracking: Tracking) -> Iterator[Problem]:
    if tracking.mlflow_arn is None and tracking.tensorboard_uri is None:
        yield _record("neither MLflow nor TensorBoard is told", "tell the ARN of an MLflow app, or leave it out")
    if tracking.tensorboard_uri is not None:
        yield from check_s3_place(
            tracking.tensorboard_uri,
            SageMakerCode.TRAINING_TRACKING,
            "tracking",
            "tensorboard_uri",
            what="the place for TensorBoard",
        )
    arn, arn_limit = tracking.mlflow_arn, training_job_limit("MlflowConfig.MlflowResourceArn")
    if arn is not None and not is_unresolved(arn) and not (arn_limit.matches(arn) and arn_limit.holds(len(arn))):
        yield _record(
            "this is not the ARN of an MLflow app or tracking server",
            "write it whole, e.g. arn:aws:sagemaker:us-west-2:111122223333:mlflow-app/app-ABCDEF",
            "mlflow_arn",
            arn,
        )
    name, limit = tracking.experiment, training_job_limit("MlflowConfig.MlflowExperimentName")
    if name is None or is_unresolved(name):
        return
    if tracking.mlflow_arn is None:
        yield _record("an experiment is a thing of MLflow, and no MLflow is told", "leave it out", "experiment", name)
    elif not limit.holds(len(name)):
        yield _record(
            "MLflow knows no experiment of such a name", f"write {limit.range} characters", "experiment", name
        )


def _record(message: str, remedy: str, attribute: str | None = None, value: object = None) -> Problem:
    path = ("tracking",) if attribute is None else ("tracking", attribute)
    return Problem(code=SageMakerCode.TRAINING_TRACKING, message=message, remedy=remedy, path=path, value=value)
