"""Rotary positions, as transformers computes them for Llama, Llama 2 and Llama 3.1."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import math
from typing import Any, Tuple

import torch

from llm_fleet_training.model.config import ModelConfig, Rope


def frequencies(rope: Rope, head_size: int, device: Any = None) -> torch.Tensor:
    """Radians per position, for each pair of a head's elements."""
    exponents = torch.arange(0, head_size, 2, dtype=torch.int64, device=device).to(torch.float32) / head_size
    plain = 1.0 / (rope.theta**exponents)
    if rope.kind == "linear":
        return plain / rope.factor
    return _llama3(plain, rope) if rope.kind == "llama3" else plain


def _llama3(plain: torch.Tensor, rope: Rope) -> torch.Tensor:
    """Long wavelengths are scaled by the factor, short ones are not, and those between are interpolated."""
    waves = 2 * math.pi / plain
    stretched = plain / rope.factor
    smooth = (rope.original_positions / waves - rope.low_frequency) / (rope.high_frequency - rope.low_frequency)
    between = (1 - smooth) * stretched + smooth * plain
    long = waves > rope.original_positions / rope.low_frequency
    short = waves < rope.original_positions / rope.high_frequency
    return torch.where(long, stretched, torch.where(short, plain, between))


def turns(config: ModelConfig, length: int, like: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine for positions 0 to `length`, of shape (length, head size)."""
    positions = torch.arange(length, device=like.device, dtype=torch.float32)
    angles = torch.outer(positions, frequencies(config.rope, config.head_size, like.device))
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


def turn(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Rotate heads of shape (batch, heads, length, head size)."""
    half = x.shape[-1] // 2
    other = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cosine + other * sine
