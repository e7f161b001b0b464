"""Reads the unsharded weights of a checkpoint of any backend, one at a time."""

from __future__ import annotations

from importlib import import_module
from typing import Any, List, Protocol

from llm_fleet_training.checkpoints.checkpoints import Complete
from llm_fleet_training.checkpoints.part import measure
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig

_ROOMS = {"tensor-slices": "slices", "distributed-checkpoint": "distributed"}
"""The module that reads each layout of the checkpoint's record."""


class Reader(Protocol):
    """Reads one checkpoint."""

    def files(self) -> List[str]:
        """Which files of the checkpoint hold weights, by their names in its record."""
        ...

    def weight(self, name: str) -> Any:
        """One unsharded weight; LFJ37 when it is missing or has another shape."""
        ...


def open_checkpoint(found: Complete, config: ModelConfig) -> Reader:
    """Compare the checkpoint with the model, and its files with their digests; LFJ37 when they differ."""
    record = found.record
    if record.fingerprint != config.fingerprint:
        mine = config.as_words()
        other = [f"{key} {value}" for key, value in sorted(record.model.items()) if mine.get(key) != value]
        fail(
            Code.CONVERSION,
            f"{found.folder} belongs to another model than config.json: {', '.join(other) or 'unknown'}",
        )
    room = _ROOMS.get(record.layout)
    if room is None:
        known = " and ".join(_ROOMS)
        fail(Code.CONVERSION, f"{found.folder} has the layout {record.layout!r}; supported: {known}")
    reader: Reader = import_module(f"llm_fleet_training.converting.{room}").make(found, config)
    for name in reader.files():
        recorded = record.files[name]
        if measure(found.folder / name) != (recorded.size, recorded.sha256):
            fail(Code.CONVERSION, f"{found.folder / name} is damaged: its SHA-256 differs from the record")
    return reader
