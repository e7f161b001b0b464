"""The results of training: an undisturbed run and one that lost a node."""

from __future__ import annotations

from dataclasses import dataclass

from llm_fleet_local.drill.training.metrics import Row


@dataclass(frozen=True)
class Trained:
    """One run that has ended."""

    name: str
    rows: tuple[Row, ...]
    """All steps, in order of time."""
    parameters_sha256: str
    """SHA-256 of all parameters, at the end."""
    restarts: int

    @property
    def losses(self) -> dict[int, float]:
        """The loss of each step; for a repeated step, the last one."""
        return {row.step: row.loss for row in self.rows}

    @property
    def checkpoint_share(self) -> float:
        """Share of the training time, from 0 to 1, for which training paused for checkpoints."""
        still = sum(row.checkpoint_seconds for row in self.rows)
        return still / (still + sum(row.seconds for row in self.rows))


@dataclass(frozen=True)
class Training:
    """Both runs. They have the same seed and the same tokens."""

    undisturbed: Trained
    disturbed: Trained
    lost_node: str
    """E.g. `workers-2`."""
    lost_at: float
    """When it was lost, in seconds since 1970."""
    nodes: tuple[tuple[str, ...], tuple[str, ...]]
    """Host names of the disturbed run's nodes, before the loss and at the end."""

    @property
    def is_same(self) -> bool:
        """Whether both runs ended with identical parameters."""
        return self.undisturbed.parameters_sha256 == self.disturbed.parameters_sha256

    @property
    def is_same_curve(self) -> bool:
        """Whether each step had exactly the same loss in both runs, repeated steps included."""
        known = self.undisturbed.losses
        return known.keys() == self.disturbed.losses.keys() and all(
            row.loss == known[row.step] for row in self.disturbed.rows
        )

    @property
    def went_on(self) -> bool:
        """Whether the run restarted after the loss, and not from its first step."""
        return bool(self._before and self._after) and self._after[0].step > 1

    @property
    def seconds_to_first_step(self) -> float:
        """Seconds from the loss of the node to the end of the first step after it."""
        return self._after[0].at - self.lost_at

    @property
    def steps_lost(self) -> int:
        """Number of steps that were repeated."""
        return self._before[-1].step - self._after[0].step + 1

    @property
    def _before(self) -> list[Row]:
        return [row for row in self.disturbed.rows if row.restart == 0]

    @property
    def _after(self) -> list[Row]:
        return [row for row in self.disturbed.rows if row.restart > 0]
