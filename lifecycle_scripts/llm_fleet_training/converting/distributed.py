"""Reads checkpoints of `torch.distributed.checkpoint`, which the backends fsdp and smp write."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import warnings
from typing import Any, List

import torch
import torch.distributed.checkpoint as dcp

from llm_fleet_training.checkpoints.checkpoints import Complete
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.model.sharding import shapes

FOLDER = "distributed"
_BELOW = "model."
"""Prefix of the weights' keys; the optimizer's state has others."""


class DistributedReader:
    """Reads one weight from all shards, in one process and without a process group."""

    def __init__(self, found: Complete, config: ModelConfig) -> None:
        """LFJ37 when the checkpoint's own record of shards is damaged."""
        self._found = found
        self._folder = found.folder / FOLDER
        self._shapes = shapes(config)
        try:
            self._entries = dcp.FileSystemReader(self._folder).read_metadata().state_dict_metadata
        except Exception as error:  # From pickle or the file system.
            fail(Code.CONVERSION, f"{self._folder}/.metadata cannot be read: {error}")

    def files(self) -> List[str]:
        """All files: weights and optimizer are in the same ones."""
        return [name for name in self._found.record.files if name.startswith(f"{FOLDER}/")]

    def weight(self, name: str) -> Any:
        """Returns the weight in the type in which it was saved."""
        key = _BELOW + name
        entry = self._entries.get(key)
        if entry is None:
            fail(Code.CONVERSION, f"{self._folder} has no {key}")
        size = tuple(getattr(entry, "size", ()))
        if size != self._shapes[name]:
            fail(Code.CONVERSION, f"{key} in {self._folder} has shape {size}, expected {self._shapes[name]}")
        held = {key: torch.empty(size, dtype=entry.properties.dtype)}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*single process.*")  # That is the intent.
            dcp.load(held, storage_reader=dcp.FileSystemReader(self._folder), no_dist=True)
        return held[key]


def make(found: Complete, config: ModelConfig) -> DistributedReader:
    """The function that `open_checkpoint` calls."""
    return DistributedReader(found, config)
