"""A training job that is right, for tests to spoil, and a place for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.rules.sagemaker.training_job import check_training_job
from llm_fleet.sagemaker.training_job.render_request import JobPlace
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import Distribution, SourceBundle, TrainingImage
from llm_fleet.spec.training_job_data import Channel, Checkpoints, JobMetric

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
    """Return the right description with `changes`."""
    return TrainingJobSpec(**{**arguments(directory), **changes})


def problems(directory: Path, changes: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return what is told of the description so changed; nothing of a good one."""
    try:
        return tuple(check_training_job(spec(directory, **changes)))
    except FleetError as error:
        return error.problems
