"""What every backend does for the train loop. All calls are collective: every process makes them, in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List, Protocol, Sequence

from llm_fleet_training.checkpoints.part import Part
from llm_fleet_training.degrees import Degrees


class Backend(Protocol):
    """Made with `(settings, config)`, without processes; torch and devices are touched from `start` on.

    `backends/<name>/` holds it as `make(settings, config) -> Backend` in its `__init__.py`.
    """

    name: str
    layout: str
    """How its checkpoints hold weights: `tensor-slices` (model-tpXX-of-YY.safetensors) or `distributed-checkpoint`."""
    rank: int
    world: int
    degrees: Degrees

    @property
    def is_main(self) -> bool:
        """Whether this process (rank 0) writes what is written once."""
        ...

    @property
    def data_rank(self) -> int:
        """Which of the `degrees.data` replicas this process belongs to: tensor-parallel neighbours read the same."""
        ...

    def start(self) -> None:
        """Join the other processes (LFJ09 when the accelerators are not there), and seed what is random."""
        ...

    def build(self) -> None:
        """Make model and optimizer, with first weights drawn from the seed: the same ones at every degree."""
        ...

    def load_weights(self, folder: Path) -> None:
        """Take the weights of a folder of Hugging Face safetensors instead; each process reads its slices."""
        ...

    def forward_backward(self, samples: Sequence[Sequence[int]], share: float) -> Any:
        """One micro batch: `sequence_length + 1` tokens a sample. Adds `share` of the mean loss's gradient.

        Returns this micro batch's mean loss in a form that `mean_loss` takes, so that lazy devices need not stop.
        """
        ...

    def mean_loss(self, losses: Sequence[Any]) -> float:
        """The mean over micro batches and replicas, the same number on every process."""
        ...

    def reduce_and_clip(self, limit: float) -> float:
        """Make gradients those of the whole batch, bound their norm; returns the norm before that."""
        ...

    def step(self, learning_rate: float) -> None:
        """Take the optimizer's step, and forget the gradients."""
        ...

    def checkpoint_bytes(self) -> int:
        """How many bytes this process will write, nearly."""
        ...

    def save(self, part: Part) -> None:
        """Write this process's share into `part`: by `part.open(name)`, or by a library and then `part.adopt(name)`."""
        ...

    def load(self, folder: Path) -> None:
        """Take weights and optimizer state of a complete checkpoint of the same degrees."""
        ...

    def parameters_sha256(self) -> str:
        """Over all parameters unsharded, in order of name (see `model/hashing.py`); the same on every process."""
        ...

    def exchange(self, text: str) -> List[str]:
        """Every process's text, by rank, on every process; also a barrier."""
        ...

    def close(self) -> None:
        """Leave the other processes."""
        ...
