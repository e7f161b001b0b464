"""Tensor parallel times data parallel on CPUs over gloo, for tests and drills; results are bit-identical."""

from __future__ import annotations

from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.settings import Settings


def make(settings: Settings, config: ModelConfig) -> Backend:
    """Return a backend that is not started."""
    from llm_fleet_training.backends.cpu.backend import CpuBackend

    return CpuBackend(settings, config)
