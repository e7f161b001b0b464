"""Shapes of models, the memory that training one needs, and the models that examples train."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """One model."""

    names: tuple[str, ...]
    """What it is called, in lower case, without endings."""
    repository: str
    """Where it is on the Hugging Face Hub."""
    config: Mapping[str, Any]
    """The numbers of its `config.json`, by their names there."""
    parameters: int | None = None
    """How many weights the Hub tells; `None` where we have not seen it."""
    unverified: bool = False
    """Whether the numbers are as generally known, and not read in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMemory:
    """What a model takes beside its weights and its cache. Estimates; the data file says of what."""

    usable_share: float
    """Which part of a NeuronCore's memory weights and cache may fill."""
    server_gib: float
    """Host memory of the server itself."""
    export_gib: float
    """Host memory of the compiler."""
    export_copies: int
    """How often the weights are in host memory while they are exported."""
    cache_margin: float
    """How much larger than the weights the cache on the host is."""


model_memory = reader(ModelMemory, "model_memory")


def known_model(name: str) -> KnownModel | None:
    """Return the model that `name` names, whatever its case, e.g. `Llama-2-7b-hf` or `tanuki-8b`; else `None`."""
    bare = bare_name(name)
    return None if bare is None else _by_name()[bare]


def bare_name(name: str) -> str | None:
    """Return which of the known names `name` is, whatever its case and without `-hf` and its like; else `None`."""
    known = _by_name()
    folded = name.casefold()
    while folded not in known:
        ending = next((ending for ending in _endings() if folded.endswith(ending)), None)
        if ending is None:
            return None
        folded = folded.removesuffix(ending)
    return folded


_endings = reader(tuple[str, ...], "model_shapes", "endings")
_models = reader(tuple[KnownModel, ...], "model_shapes", "models")


@cache
def _by_name() -> Mapping[str, KnownModel]:
    return {name: model for model in _models() for name in model.names}


def max_sequence(name: str) -> int | None:
    """Return the longest sequence that the model called `name` was made for; `None` where we do not know."""
    return load("training_models")["max_sequence"].get(bare_name(name))


trained_model_types = reader(tuple[str, ...], "training_models", "model_types")
"""The `model_type`s that the training program has."""


def is_gated(repository: str) -> bool:
    """Return whether a repository of the Hub, `owner/name`, is known to need a token. What is unknown passes."""
    folded = repository.casefold()
    return any(folded.startswith(prefix) for prefix in load("training_models")["gated"])


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


training_memory = reader(TrainingMemory, "training_memory")
