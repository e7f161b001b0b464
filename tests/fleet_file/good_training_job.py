"""A small valid fleet file with a SageMaker training job, to which tests add errors, and its source folder."""

from pathlib import Path
from typing import Any

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.fleet_file.sagemaker import TrainingJobConfig
from llm_fleet.rules.problem import FleetError, Problem
from tests.fleet_file.good_fleet import edited_text

GOOD = """\
fleet: test
region: us-west-2
network: {azs: [usw2-az1, usw2-az2]}
storage:
  fsx: {size: 1200 GiB}
  buckets: {models: {name: our-models}, scratch: {}}
training_jobs:
  gpt2:
    image: pytorch
    source: train/train.py
    instance: ml.g5.12xlarge
    count: 2
    distribution: torchrun
    hyperparameters: {epochs: 3, learning-rate: 0.0001}
    environment: {NCCL_DEBUG: WARN}
    channels: {train: "s3://my-data/train"}
    checkpoints: true
    metrics: {loss: "loss=([0-9.]+)"}
"""


def source_folder(directory: Path) -> Path:
    """Create a folder `train` with a training script in `directory`, and return `directory`."""
    folder = directory / "train"
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text("print('loss=1.0')\n")
    (folder / "prepare.sh").write_text("true\n")
    return directory


def edited(*edits: str) -> str:
    """Return the valid file after `edits`: each first string, which must occur, is replaced by the next one."""
    return edited_text(GOOD, *edits)


def job(*edits: str, directory: Path | None = None) -> TrainingJobConfig:
    """Return the training job of the file after these edits."""
    return parse_fleet(edited(*edits), directory=directory).training_jobs["gpt2"]


def problems(*edits: str, **options: Any) -> tuple[Problem, ...]:
    """Return the problems of the file after these edits; empty for a valid file."""
    try:
        parse_fleet(edited(*edits), **options)
    except FleetError as error:
        return error.problems
    return ()
