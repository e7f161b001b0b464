"""The weights of a checkpoint, whole and one at a time, whatever backend has written it."""

from __future__ import annotations

from importlib import import_module
from typing import Any, List, Protocol

from llm_fleet_training.checkpoints.checkpoints import Complete
from llm_fleet_training.checkpoints.part import measure
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig

_ROOMS = {"tensor-slices": "slices", "distributed-checkpoint": "distributed"}
"""By the layout that the checkpoint's record names, the module that reads it."""


class Reader(Protocol):
    """Reads one checkpoint."""

    def files(self) -> List[str]:
        """Which files of the checkpoint hold weights, by their names in its record."""
        ...

    def weight(self, name: str) -> Any:
        """One whole weight, as it was trained; LFJ37 when it is missing or of another shape."""
        ...


def open_checkpoint(found: Complete, config: ModelConfig) -> Reader:
    """Compare the checkpoint with the model, and its files with their digests; LFJ37 when they differ."""
    record = found.record
    if record.fingerprint != config.fingerprint:
        mine = config.as_words()
        other = [f"{key} {value}" for key, value in sorted(record.model.items()) if mine.get(key) != value]
        fail(Code.CONVERSION, f"{found.folder} is of another model than config.json: {', '.join(other) or 'unknown'}")
    room = _ROOMS.get(record.layout)
    if room is None:
        known = " and ".join(_ROOMS)
        fail(Code.CONVERSION, f"{found.folder} has the layout {record.layout!r}; {known} are known here")
    reader: Reader = import_module(f"llm_fleet_training.converting.{room}").make(found, config)
    for name in reader.files():
        reported = record.files[name]
        if measure(found.folder / name) != (reported.size, reported.sha256):
            fail(Code.CONVERSION, f"{found.folder / name} is not what was written: its SHA-256 differs")
    return reader
