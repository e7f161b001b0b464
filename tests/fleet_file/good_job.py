"""A small valid fleet file with a training job, to which tests add errors."""

from typing import Any

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.jobs.render_run import training_runs
from llm_fleet.jobs.settings import TrainingRun
from llm_fleet.rules.problem import FleetError, Problem
from tests.fleet_file.good_fleet import edited_text

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"
IMAGE = "public.ecr.aws/neuron/pytorch-training-neuronx:2.9.0-neuronx-py312-sdk2.28.0-ubuntu24.04"
TRAINING = f"training: {{environments: {{any: {{kind: container, image: '{IMAGE}'}}}}, hub_token_secret: '{SECRET}'}}"
GOOD = f"""\
fleet: test
region: us-west-2
network: {{azs: [usw2-az1, usw2-az2]}}
storage:
  fsx: {{size: 4800 GiB, throughput: 250 MB/s/TiB}}
  buckets: {{models: {{name: our-models}}, scratch: {{}}}}
clusters:
  ml:
    kind: hyperpod
    writes: [models, "s3://our-checkpoints"]
    {TRAINING}
    groups:
      controller: {{role: controller, type: ml.m5.xlarge, count: 1}}
      workers: {{role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}}
services:
  chat:
    model: {{bucket: models, prefix: llama-2-7b}}
    server: {{kind: hugging-face-vllm, batch_size: 4}}
    instance: inf2.xlarge
    front: {{http: true}}
jobs:
  llama:
    model: meta-llama/Llama-2-7b-hf
    data: me/corpus
"""
DATA = "data: me/corpus"


def edited(*edits: str) -> str:
    """Return the valid file after `edits`: each first string, which must occur, is replaced by the next one."""
    return edited_text(GOOD, *edits)


def with_keys(keys: str) -> tuple[str, str]:
    """Return the edit that adds `keys`, lines of the job, below its data."""
    return DATA, "\n    ".join([DATA, *keys.splitlines()])


def run(*edits: str) -> TrainingRun:
    """Return the run of the file after these edits."""
    return training_runs(parse_fleet(edited(*edits)))["llama"]


def problems(*edits: str, **options: Any) -> tuple[Problem, ...]:
    """Return the problems of the file after these edits; empty for a valid file."""
    try:
        parse_fleet(edited(*edits), **options)
    except FleetError as error:
        return error.problems
    return ()
