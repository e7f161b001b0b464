"""How training went: an undisturbed run and one that lost a node, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from drill.report.model import ScriptRun
from drill.training.metrics import Row

ENVIRONMENT = "training_environment"
"""The step that makes what jobs run in."""


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
        """Seconds that training stood still for checkpoints, as a share of the seconds of all steps with them."""
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


@dataclass(frozen=True)
class Environment:
    """The making of the environment: one node builds it, the others find it whole."""

    builder: str
    seconds: float
    """Of the step on the node that built it, fetching included."""
    waited: int
    """Other nodes that found it whole once it was built, and verified it."""
    verify_seconds: float
    """The longest that one of all took to verify it."""


def environment_of(scripts: Iterable[ScriptRun]) -> Environment | None:
    """Return how the environment came to be in the first starts of nodes; `None` where none was built."""
    firsts = {run.node: run for run in reversed(list(scripts))}
    steps = {name: step for name, run in firsts.items() for step in run.steps if step.name == ENVIRONMENT}
    built = [name for name, step in steps.items() if step.changes and step.state == "done"]
    if len(built) != 1:
        return None
    made = steps[built[0]]
    return Environment(
        builder=built[0],
        seconds=(made.ended or 0.0) - (made.started or 0.0),
        waited=len(steps) - 1,
        verify_seconds=max(step.seconds.get("verify", 0.0) for step in steps.values()),
    )
