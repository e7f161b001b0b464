"""Checkpoints of `torch.distributed.checkpoint`, of the backend fsdp and others that shard by it."""

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
"""Under which the weights are, beside the optimizer's state."""


class DistributedReader:
    """Reads of all shards what belongs to one weight, in one process and without a process group."""

    def __init__(self, found: Complete, config: ModelConfig) -> None:
        """LFJ37 when the checkpoint's own record of shards is damaged."""
        self._found = found
        self._folder = found.folder / FOLDER
        self._shapes = shapes(config)
        try:
            self._reported = dcp.FileSystemReader(self._folder).read_metadata().state_dict_metadata
        except Exception as error:  # Of pickle, of the file system.
            fail(Code.CONVERSION, f"{self._folder}/.metadata cannot be read: {error}")

    def files(self) -> List[str]:
        """Weights and optimizer lie in the same files."""
        return [name for name in self._found.record.files if name.startswith(f"{FOLDER}/")]

    def weight(self, name: str) -> Any:
        """Of the type that it was saved in."""
        key = _BELOW + name
        reported = self._reported.get(key)
        if reported is None:
            fail(Code.CONVERSION, f"{self._folder} has no {key}")
        size = tuple(getattr(reported, "size", ()))
        if size != self._shapes[name]:
            fail(Code.CONVERSION, f"{key} in {self._folder} has shape {size}; the model's is {self._shapes[name]}")
        held = {key: torch.empty(size, dtype=reported.properties.dtype)}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*single process.*")  # That is the intent.
            dcp.load(held, storage_reader=dcp.FileSystemReader(self._folder), no_dist=True)
        return held[key]


def make(found: Complete, config: ModelConfig) -> DistributedReader:
    """As `open_checkpoint` calls it."""
    return DistributedReader(found, config)
