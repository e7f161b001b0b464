"""Reads a model's config.json, for fleet file and construct alike."""

import json
from pathlib import Path
from typing import Any, cast

from llm_fleet.named_files.regular_file import read_regular_file
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.model_shape import ModelNumbers, shape_of_config
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run.shape import TrainedNumbers, trained_shape_of_config


def read_shape(path: Path) -> tuple[ModelNumbers | None, list[Problem]]:
    """Return the size that the `config.json` at `path` tells, or what is wrong with the file."""
    document, problems = _document(path)
    return (None, problems) if document is None else shape_of_config(document)


def read_trained_shape(path: Path) -> tuple[TrainedNumbers | None, list[Problem]]:
    """Return the size of a model that is trained, as its `config.json` at `path` tells it, or what is wrong with it."""
    document, problems = _document(path)
    return (None, problems) if document is None else trained_shape_of_config(document)


def _document(path: Path) -> tuple[dict[str, Any] | None, list[Problem]]:
    try:
        return _read(path), []
    except (OSError, ValueError, RecursionError) as error:
        return None, [_unreadable(path, getattr(error, "strerror", None) or str(error))]


def _read(path: Path) -> dict[str, Any]:
    document: object = json.loads(read_regular_file(path))
    if not isinstance(document, dict):
        raise ValueError("it holds no JSON object")
    return cast("dict[str, Any]", document)


def _unreadable(path: Path, reason: str) -> Problem:
    return Problem(
        code=Code.MODEL_CONFIG,
        message=f"the model's config.json cannot be read: {reason}",
        remedy="give the path of the file that lies beside the model's weights, on this machine",
        value=str(path),
    )
