"""Tensor parallel times data parallel on CPUs over gloo: to prove, to learn and to drill; the same to the bit."""

from __future__ import annotations

from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.settings import Settings


def make(settings: Settings, config: ModelConfig) -> Backend:
    """A backend that is not started yet."""
    from llm_fleet_training.backends.cpu.backend import CpuBackend

    return CpuBackend(settings, config)
