"""Where the record of an experiment goes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking:
    """MLflow, TensorBoard, or both. The old Experiments SDK and Debugger have ended, and are not offered."""

    mlflow_arn: str | None = None
    """ARN of an MLflow app or tracking server of SageMaker's, which the job may then write to. Default: none."""
    experiment: str | None = None
    """The experiment in MLflow. Default: the job's name."""
    tensorboard_uri: str | None = None
    """`s3://bucket/prefix`, to which what the script writes below `/opt/ml/output/tensorboard` is copied while it runs.
    Default: nothing is."""
    tensorboard_key_arn: str | None = None
    """The KMS key of that bucket. Default: it has none of its own."""
