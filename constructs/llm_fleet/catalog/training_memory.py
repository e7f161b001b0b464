"""What a training process keeps in memory: bytes a parameter, and bytes of activations."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBytes:
    """Bytes a parameter."""

    weights: int
    """What the forward pass computes with."""
    gradients: int
    optimizer: int
    """Adam's moments, and fp32 weights where `weights` are 16-bit."""

    @property
    def total(self) -> int:
        """All three."""
        return self.weights + self.gradients + self.optimizer


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationBytes:
    """The coefficients of Korthikanti et al. 2022, for 16-bit activations."""

    layer: int
    """Bytes for each number of a layer's input, without the feed-forward block's inner tensors."""
    inner: int
    """Bytes for each number of a plain feed-forward block's inner width."""
    inner_gated: int
    """The same of a gated block."""
    scores: int
    """Bytes for each attention score."""
    input: int
    """Bytes for each number of a layer's input, which full recomputation keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingMemory:
    """All of it; the data file has the sources, and says which are our own estimates."""

    state: Mapping[str, StateBytes]
    """By precision."""
    activation: ActivationBytes
    logits_bytes: int
    """Bytes for each number of the last layer's output."""
    gathered_layers: int
    """How many layers FSDP holds whole at once."""
    usable_share: Mapping[str, float]
    """Which part of a process's memory a run may fill, by kind of accelerator."""


@cache
def training_memory() -> TrainingMemory:
    """Return the facts."""
    facts = load("training_memory")
    return TrainingMemory(
        state={precision: StateBytes(**each) for precision, each in facts["state"].items()},
        activation=ActivationBytes(**facts["activation"]),
        logits_bytes=facts["logits_bytes"],
        gathered_layers=facts["gathered_layers"],
        usable_share=facts["usable_share"],
    )
