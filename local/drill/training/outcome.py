"""How training went: an undisturbed run and one that lost a node, side by side."""

from __future__ import annotations

from dataclasses import dataclass

from local.drill.training.metrics import Row


@dataclass(frozen=True)
class Trained:
    """One run that came to its end."""

    name: str
    rows: tuple[Row, ...]
    """Every step that was taken, in the order of time."""
    parameters_sha256: str
    """Of all parameters, at the end."""
    restarts: int

    @property
    def losses(self) -> dict[int, float]:
        """The loss of each step; of one that was taken twice, that of the last time."""
        return {row.step: row.loss for row in self.rows}

    @property
    def checkpoint_share(self) -> float:
        """Seconds for which training paused for checkpoints, as a share of the seconds of all steps with them."""
        still = sum(row.checkpoint_seconds for row in self.rows)
        return still / (still + sum(row.seconds for row in self.rows))


@dataclass(frozen=True)
class Training:
    """Both runs. They are of one seed, and began with the same tokens."""

    undisturbed: Trained
    disturbed: Trained
    lost_node: str
    """E.g. `workers-2`."""
    lost_at: float
    """When it was lost, in seconds since 1970."""
    nodes: tuple[tuple[str, ...], tuple[str, ...]]
    """Host names that the disturbed run was on, before the loss and at its end."""

    @property
    def is_same(self) -> bool:
        """Whether both ended with the same parameters, bit by bit."""
        return self.undisturbed.parameters_sha256 == self.disturbed.parameters_sha256

    @property
    def is_same_curve(self) -> bool:
        """Whether each step of both had the same loss, to the last digit, those that were taken again as well."""
        known = self.undisturbed.losses
        return known.keys() == self.disturbed.losses.keys() and all(
            row.loss == known[row.step] for row in self.disturbed.rows
        )

    @property
    def went_on(self) -> bool:
        """Whether the loss hit it in the middle: it was started again, and not from its first step."""
        return bool(self._before and self._after) and self._after[0].step > 1

    @property
    def seconds_to_first_step(self) -> float:
        """From the loss of the node to the end of the first step after it."""
        return self._after[0].at - self.lost_at

    @property
    def steps_lost(self) -> int:
        """Steps that were taken and had to be taken again."""
        return self._before[-1].step - self._after[0].step + 1

    @property
    def _before(self) -> list[Row]:
        return [row for row in self.disturbed.rows if row.restart == 0]

    @property
    def _after(self) -> list[Row]:
        return [row for row in self.disturbed.rows if row.restart > 0]
