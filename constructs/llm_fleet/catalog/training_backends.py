"""What each backend of the training program can do, and what a run has unless it says otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendFacts:
    """One backend."""

    accelerators: tuple[str, ...]
    """`neuron`, `gpu` or `none`: on what it runs."""
    families: tuple[str, ...] | None
    """Instance families that it runs on; `None` for all with its accelerator."""
    degrees: tuple[str, ...]
    """Which degrees it has, by the run's attributes, besides data parallel."""
    sequence_parallel: bool
    """Whether tensor parallel splits the sequence too."""
    keeps_scores: bool
    """Whether attention scores are kept for the backward pass."""
    tensor_parallel_within_node: bool
    """Whether the processes that share a layer must be of one node."""


@cache
def backends() -> Mapping[str, BackendFacts]:
    """Return the backends by their words."""
    return {name: _facts(**each) for name, each in load("training_backends")["backends"].items()}


def default_backend(accelerator: str) -> str:
    """Return the backend for `neuron`, `gpu` or `none`."""
    return load("training_backends")["default_backend"][accelerator]


def default_sequence_length() -> int:
    """Return the tokens of a sequence where the model can have as many."""
    return load("training_backends")["defaults"]["sequence_length"]


def default_global_batch() -> int:
    """Return the sequences of a step, which are rounded to what the degrees divide."""
    return load("training_backends")["defaults"]["global_batch"]


def default_warmup_steps() -> int:
    """Return the steps until the learning rate is at its highest, where a run has enough of them."""
    return load("training_backends")["defaults"]["warmup_steps"]


def default_seed() -> int:
    """Return what chance begins with."""
    return load("training_backends")["defaults"]["seed"]


def most_nodes() -> int:
    """Return above how many nodes of a partition somebody has slipped."""
    return load("training_backends")["most_nodes"]


def most_processes() -> int:
    """Return above how many processes of a node somebody has slipped."""
    return load("training_backends")["most_processes"]


def _facts(*, accelerators: list[str], families: list[str] | None, degrees: list[str], **rest: bool) -> BackendFacts:
    return BackendFacts(
        accelerators=tuple(accelerators),
        families=None if families is None else tuple(families),
        degrees=tuple(degrees),
        sequence_parallel=rest["sequence_parallel"],
        keeps_scores=rest["keeps_scores"],
        tensor_parallel_within_node=rest["tensor_parallel_within_node"],
    )
