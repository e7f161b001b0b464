"""Tensor parallel with ZeRO-1 on Trainium: torch-neuronx (PyTorch/XLA) and neuronx_distributed (NxD)."""

from __future__ import annotations

from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.settings import Settings


def make(settings: Settings, config: ModelConfig) -> Backend:
    """Return a backend that is not started. LFJ04 for degrees that it does not support."""
    for name, value in (
        ("pipeline parallel", settings.pipeline_parallel),
        ("context parallel", settings.context_parallel),
    ):
        if value != 1:
            fail(
                Code.DEGREES,
                f"{name} {value} is not supported by the backend neuron, which has tensor and data parallel",
                shared=True,
            )
    if settings.shard_degree:
        fail(
            Code.DEGREES,
            f"shard degree {settings.shard_degree}: backend neuron spreads its optimizer over all replicas",
            shared=True,
        )
    from llm_fleet_training.backends.neuron.backend import NeuronBackend

    return NeuronBackend(settings, config)
