"""A training job that is right, for tests to spoil, and a place for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.sagemaker.training_job.channel import Channel
from llm_fleet.sagemaker.training_job.checkpoints import Checkpoints
from llm_fleet.sagemaker.training_job.distribution import Distribution
from llm_fleet.sagemaker.training_job.job_metric import JobMetric
from llm_fleet.sagemaker.training_job.job_place import JobPlace
from llm_fleet.sagemaker.training_job.source_bundle import SourceBundle
from llm_fleet.sagemaker.training_job.training_image import TrainingImage
from llm_fleet.sagemaker.training_job.training_job_spec import TrainingJobSpec

PLACE = JobPlace(
    name="gpt2-20261122-093000-abcd",
    region="us-west-2",
    role_arn="arn:aws:iam::111122223333:role/gpt2",
    output_uri="s3://jobs/gpt2/output",
    source_uri="s3://jobs/gpt2/sourcedir.tar.gz",
    checkpoint_uri="s3://jobs/gpt2/checkpoints",
)


def arguments(directory: Path) -> dict[str, Any]:
    """Return the arguments of a right description, whose script lies below `directory`."""
    return {
        "name": "gpt2",
        "image": TrainingImage.pytorch(),
        "source": SourceBundle(directory / "train", entry_point="train.py"),
        "instance_type": "ml.g5.12xlarge",
        "instance_count": 2,
        "distribution": Distribution.torchrun(),
        "hyperparameters": {"epochs": 3, "learning-rate": 0.0001},
        "environment": {"NCCL_DEBUG": "WARN"},
        "channels": (Channel.s3("train", "s3://my-data/train"),),
        "checkpoints": Checkpoints(),
        "metrics": (JobMetric(name="loss", regex="loss=([0-9.]+)"),),
    }


def spec(directory: Path, **changes: Any) -> TrainingJobSpec:
    """Return the right description with `changes`."""
    return TrainingJobSpec(**{**arguments(directory), **changes})


def problems(directory: Path, changes: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return what is told of the description so changed; nothing of a good one."""
    try:
        spec(directory, **changes)
    except FleetError as error:
        return error.problems
    return ()
