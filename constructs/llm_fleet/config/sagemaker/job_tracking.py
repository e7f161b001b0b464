"""Where the record of an experiment goes."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import KeyArn


class JobTrackingConfig(FleetModel):
    """MLflow, TensorBoard, or both (`TrackingLike`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "mlflow_tracking_uri": "write `mlflow`",
        "experiment_name": "write `experiment`",
        "s3_output_path": "write `tensorboard`",
    }

    mlflow_arn: str | None = Field(default=None, alias="mlflow")
    """ARN of an MLflow app or tracking server of SageMaker's. Default: none."""
    experiment: str | None = None
    """The experiment in MLflow. Default: the job's name."""
    tensorboard_uri: str | None = Field(default=None, alias="tensorboard")
    """`s3://bucket/prefix` for what is written below `/opt/ml/output/tensorboard`. Default: none."""
    tensorboard_key_arn: KeyArn | None = Field(default=None, alias="tensorboard_key")
    """ARN of the KMS key of that bucket. Default: it has none of its own."""
