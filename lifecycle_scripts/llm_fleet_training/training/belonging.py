"""Compares a checkpoint's record with the run's settings. Needs no torch."""

from __future__ import annotations

from typing import Any, Dict, List

from llm_fleet_training import degrees
from llm_fleet_training.checkpoints.checkpoints import Complete
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.settings import Settings


def requested_degrees(settings: Settings, world: int) -> Dict[str, int]:
    """The degrees in `checkpoint.json`."""
    return degrees.spread(
        world=world,
        tensor=settings.tensor_parallel,
        pipeline=settings.pipeline_parallel,
        context=settings.context_parallel,
        shard=settings.shard_degree,
    ).as_words()


def belongs(checkpoint: Complete, settings: Settings, config: ModelConfig, world: int) -> None:
    """LFJ12 for another model, LFJ13 for another backend, other degrees or another number of processes."""
    record = checkpoint.record
    if record.fingerprint != config.fingerprint:
        differences = _differences(record.model, config.as_words())
        fail(Code.MODEL_MISMATCH, f"{checkpoint.folder} belongs to another model: {differences}", shared=True)
    was = {"backend": record.backend, "processes": record.world_size, **_above(record.degrees)}
    now = {"backend": settings.backend, "processes": world, **_above(requested_degrees(settings, world))}
    if was != now:
        fail(
            Code.DEGREES_MISMATCH,
            f"{checkpoint.folder} was written with other settings: {_differences(was, now)}",
            shared=True,
        )


def _above(words: Dict[str, int]) -> Dict[str, Any]:
    """Degrees, named for messages."""
    return {f"{name} degree": value for name, value in words.items()}


def _differences(was: Dict[str, Any], now: Dict[str, Any]) -> str:
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    return "; ".join(f"{name} was {was.get(name)}, is {now.get(name)}" for name in names)


def other_data(checkpoint: Complete, *, tokens: str, seed: int) -> List[str]:
    """Warnings: the run continues, but with other samples than before."""
    record = checkpoint.record
    found: List[str] = []
    if record.data and tokens and record.data != tokens:
        found.append("continues with other tokens than it started with")
    if record.seed != seed:
        found.append(f"continues with seed {seed}; it started with {record.seed}")
    return found
