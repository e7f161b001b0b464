"""How large a model is that is trained: what serving asks, and the widths that training spreads and keeps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_fleet.catalog.model_shapes import known_model, max_sequence, trained_model_types
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.model_shape import ModelNumbers, shape_of_config
from llm_fleet.rules.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedNumbers:
    """A model's size in plain numbers (`TrainedShapeLike`)."""

    parameters: int
    layers: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    intermediate: int
    vocabulary: int
    max_sequence: int | None = None
    bytes_per_parameter: int = 2


def known_trained_shape(location: str) -> TrainedNumbers | None:
    """Return the size of the model whose name ends `location`; `None` for a name that tells nothing.

    `location` is `meta-llama/Llama-2-7b-hf`, `s3://bucket/models/tanuki-8b` or a path.
    """
    name = location.rstrip("/").rsplit("/", 1)[-1]
    model = known_model(name)
    if model is None:
        return None
    found, _ = trained_shape_of_config({"max_position_embeddings": max_sequence(name), **model.config})
    return found


def trained_shape_of_config(config: Mapping[str, Any]) -> tuple[TrainedNumbers | None, list[Problem]]:
    """Return the size that a `config.json` tells, or what is wrong with it. GPT-J, of other words, is not trained."""
    numbers, problems = shape_of_config(config)
    if numbers is None:
        return None, problems
    if config["model_type"] not in trained_model_types():
        return None, [_not_trained(config["model_type"])]
    kept = {name: getattr(numbers, name) for name in ModelNumbers.__slots__}
    return TrainedNumbers(
        **kept,
        hidden=config["hidden_size"],
        intermediate=config["intermediate_size"],
        vocabulary=config["vocab_size"],
        max_sequence=config.get("max_position_embeddings"),
    ), problems


def check_trained(location: str) -> list[Problem]:
    """Return a problem when the model whose name ends `location` is known, and none that is trained here."""
    model = known_model(location.rstrip("/").rsplit("/", 1)[-1])
    kind = None if model is None else model.config["model_type"]
    return [] if kind is None or kind in trained_model_types() else [_not_trained(kind)]


def _not_trained(kind: str) -> Problem:
    return Problem(
        code=Code.MODEL_CONFIG,
        message=f"it is of a model_type, {kind!r}, that the training program does not have",
        remedy="take a model of Llama's kind",
        allowed=", ".join(trained_model_types()),
    )
