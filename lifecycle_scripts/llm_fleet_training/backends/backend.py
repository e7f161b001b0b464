"""The interface of a backend for the train loop. Calls are collective: every process makes them, in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List, Protocol, Sequence

from llm_fleet_training.checkpoints.part import Part
from llm_fleet_training.degrees import Degrees


class Backend(Protocol):
    """Constructed with `(settings, config)`, without processes; torch and devices are used from `start` on.

    `backends/<name>/__init__.py` defines `make(settings, config) -> Backend`.
    """

    name: str
    layout: str
    """Format of checkpoints: `tensor-slices` (model-tpXX-of-YY.safetensors) or `distributed-checkpoint`."""
    rank: int
    world: int
    degrees: Degrees

    @property
    def is_main(self) -> bool:
        """Whether this process is rank 0, which writes the files that are written once."""
        ...

    @property
    def data_rank(self) -> int:
        """Replica of this process, of `degrees.data`: ranks of a tensor-parallel group have the same."""
        ...

    def start(self) -> None:
        """Join the other processes (LFJ09 without accelerators), and set the random seed."""
        ...

    def build(self) -> None:
        """Make model and optimizer, with initial weights drawn from the seed: the same at every degree."""
        ...

    def load_weights(self, folder: Path) -> None:
        """Load weights from a folder of Hugging Face safetensors; each process reads its slices."""
        ...

    def forward_backward(self, samples: Sequence[Sequence[int]], share: float) -> Any:
        """Run one micro batch: `sequence_length + 1` tokens per sample. Adds `share` of the mean loss's gradient.

        Returns this micro batch's mean loss in a form that `mean_loss` accepts without a synchronization of lazy
        devices.
        """
        ...

    def mean_loss(self, losses: Sequence[Any]) -> float:
        """The mean over micro batches and replicas, the same number on every process."""
        ...

    def reduce_and_clip(self, limit: float) -> float:
        """Reduce gradients over the whole batch and clip their norm; returns the norm before clipping."""
        ...

    def step(self, learning_rate: float) -> None:
        """Run the optimizer's step, and clear the gradients."""
        ...

    def checkpoint_bytes(self) -> int:
        """About how many bytes this process will write."""
        ...

    def save(self, part: Part) -> None:
        """Write this process's share into `part`: with `part.open(name)`, or with a library and `part.adopt(name)`."""
        ...

    def load(self, folder: Path) -> None:
        """Load weights and optimizer state from a complete checkpoint of the same degrees."""
        ...

    def parameters_sha256(self) -> str:
        """SHA-256 of all unsharded parameters, in order of name (see `model/hashing.py`); the same on every process."""
        ...

    def exchange(self, text: str) -> List[str]:
        """Gather one text per process, by rank, on every process; also a barrier."""
        ...

    def close(self) -> None:
        """Leave the process group."""
        ...
