"""Initial weights, drawn from the seed and each weight's name: the same at every degree of parallelism."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import hashlib

import torch

from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.model.sharding import dimension, shapes


def initial(name: str, config: ModelConfig, seed: int) -> torch.Tensor:
    """A weight in float32: ones for norms, else normal with the config's standard deviation, as in transformers."""
    shape = shapes(config)[name]
    if dimension(name) is None:
        return torch.ones(shape)
    drawn = torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:7], "big"))
    return torch.empty(shape).normal_(0.0, config.initial_range, generator=drawn)
