"""Tells editors of the short forms of a training job's keys; `training_job_short_form` reads them."""

from typing import Any

from llm_fleet.catalog.training_instances import training_instances
from llm_fleet.config.quantity import SECONDS
from llm_fleet.rules.sagemaker.training_job_terms import DistributionKind, TrainingImageKind


def training_instance_schema(schema: dict[str, Any]) -> None:
    """Offer the instance types of SageMaker training; which there are is for the rule to tell."""
    schema["enum"] = [name for name, facts in training_instances().items() if facts.successor is None]


def or_image(schema: dict[str, Any]) -> None:
    """Let the word of a line of images, or an address, stand for an image."""
    words = [kind.value for kind in TrainingImageKind if kind is not TrainingImageKind.OWN]
    _also(schema, {"type": "string", "examples": words})


def or_script(schema: dict[str, Any]) -> None:
    """Let the path of the script stand for folder and script."""
    _also(schema, {"type": "string", "examples": ["train/train.py"]})


def or_flag(schema: dict[str, Any]) -> None:
    """Let `true`, or a place in S3, stand for the mapping."""
    _also(schema, {"type": ["boolean", "string"]})


def or_time(schema: dict[str, Any]) -> None:
    """Let a time stand for the mapping."""
    _also(schema, SECONDS.json_schema())


def or_uri(schema: dict[str, Any]) -> None:
    """Let a place in S3 stand for the mapping."""
    _also(schema, {"type": "string", "examples": ["s3://my-models/gpt2"]})


def or_launcher(schema: dict[str, Any]) -> None:
    """Let the word of a launcher stand for a distribution."""
    _also(schema, {"enum": [kind.value for kind in DistributionKind]})


def or_schedule(schema: dict[str, Any]) -> None:
    """Let an expression stand for a schedule."""
    _also(schema, {"type": "string", "examples": ["cron(0 3 ? * SUN *)", "rate(7 days)"]})


def or_number(schema: dict[str, Any]) -> None:
    """Let a number stand for the mapping."""
    _also(schema, {"type": "integer"})


def _also(schema: dict[str, Any], short: dict[str, Any]) -> None:
    if "anyOf" in schema:
        schema["anyOf"] = [*schema["anyOf"], short]
        return
    long = {key: schema.pop(key) for key in ("$ref", "allOf") if key in schema}
    schema["anyOf"] = [long, short]
