"""Tells editors of the short forms of a training job's keys; `training_job_short_form` reads them."""

from typing import Any

from llm_fleet.catalog.training_instances import training_instances
from llm_fleet.config.services.short_schema import also
from llm_fleet.rules.sagemaker.training_job_terms import DistributionKind, TrainingImageKind
from llm_fleet.spec.values import SECONDS


def training_instance_schema(schema: dict[str, Any]) -> None:
    """Offer the instance types of SageMaker training; which there are is for the rule to tell."""
    schema["enum"] = [name for name, facts in training_instances().items() if facts.successor is None]


def or_image(schema: dict[str, Any]) -> None:
    """Let the word of a line of images, or an address, stand for an image."""
    words = [kind.value for kind in TrainingImageKind if kind is not TrainingImageKind.OWN]
    also(schema, {"type": "string", "examples": words})


def or_script(schema: dict[str, Any]) -> None:
    """Let the path of the script stand for folder and script."""
    also(schema, {"type": "string", "examples": ["train/train.py"]})


def or_flag(schema: dict[str, Any]) -> None:
    """Let `true`, or a place in S3, stand for the mapping."""
    also(schema, {"type": ["boolean", "string"]})


def or_time(schema: dict[str, Any]) -> None:
    """Let a time stand for the mapping."""
    also(schema, SECONDS.json_schema())


def or_uri(schema: dict[str, Any]) -> None:
    """Let a place in S3 stand for the mapping."""
    also(schema, {"type": "string", "examples": ["s3://my-models/gpt2"]})


def or_launcher(schema: dict[str, Any]) -> None:
    """Let the word of a launcher stand for a distribution."""
    also(schema, {"enum": [kind.value for kind in DistributionKind]})


def or_schedule(schema: dict[str, Any]) -> None:
    """Let an expression stand for a schedule."""
    also(schema, {"type": "string", "examples": ["cron(0 3 ? * SUN *)", "rate(7 days)"]})


def or_number(schema: dict[str, Any]) -> None:
    """Let a number stand for the mapping."""
    also(schema, {"type": "integer"})


def each_or_uri(schema: dict[str, Any]) -> None:
    """Let a place in S3 stand for each of the channels."""
    also(schema["additionalProperties"], {"type": "string", "examples": ["s3://my-data/train"]})


def each_or_expression(schema: dict[str, Any]) -> None:
    """Let a regular expression stand for each of the metrics."""
    also(schema["additionalProperties"], {"type": "string", "examples": ["loss=([0-9.]+)"]})
