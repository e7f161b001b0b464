"""How checkpoints lie below their prefix."""

from dataclasses import dataclass
from typing import Self

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.watch_layout import check_layout


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointLayout:
    """How a watch tells one checkpoint from another, and a whole one from half of one.

    It matters for divergence, where the newest checkpoint is the wrong one. A job that failed finds its own.
    """

    known: str | None = None
    """A layout that the function knows by name; `None` for one that is told."""
    pattern: str | None = None
    """Regular expression of a checkpoint's folder, right below the prefix; its one group is the step."""
    marker: str | None = None
    """A file in that folder which is written last. `None`: there is none, and ages alone tell a whole checkpoint."""
    pointer: str | None = None
    """A file beside the folders that names the newest one. `None`: there is none."""

    @classmethod
    def hugging_face(cls) -> Self:
        """Return the layout of `transformers.Trainer`: `checkpoint-<step>`, complete with its `trainer_state.json`."""
        return cls(known="hugging-face")

    @classmethod
    def neuronx_distributed(cls) -> Self:
        """Return the layout of NeuronX Distributed's `save_checkpoint`."""
        return cls(known="neuronx-distributed")

    @classmethod
    def llm_fleet(cls) -> Self:
        """Return the layout of llm-fleet's own training runtime."""
        return cls(known="llm-fleet")

    @classmethod
    def any(cls) -> Self:
        """Return the layout of whoever keeps to none: all that was written well before the trouble is copied."""
        return cls(known="any")

    @classmethod
    def of(cls, *, pattern: str, marker: str | None = None, pointer: str | None = None) -> Self:
        r"""Return a layout of its own, e.g. `CheckpointLayout.of(pattern=r"step_(\d+)", marker="done")`.

        Raises `FleetError` (LF990) for a pattern that does not compile, or has not exactly one group.
        """
        return cls(pattern=pattern, marker=marker, pointer=pointer)

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_layout(self), subject="CheckpointLayout")
