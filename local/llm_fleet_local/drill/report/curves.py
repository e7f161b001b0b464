"""The loss curves: a wide line for the undisturbed run, and a thin one for the run that lost a node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from llm_fleet_local.drill.training.metrics import Row
from llm_fleet_local.drill.training.outcome import Training

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 1180, 320, 56, 24, 16, 40
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000)
_MARKS = 12


@dataclass(frozen=True)
class _Scale:
    steps: tuple[int, int]
    losses: tuple[float, float]

    def x(self, step: float) -> float:
        first, last = self.steps
        return _LEFT + (step - first) / max(last - first, 1) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, loss: float) -> float:
        low, high = self.losses
        return _TOP + (high - loss) / max(high - low, 1e-9) * (_HEIGHT - _TOP - _BOTTOM)

    def point(self, row: Row) -> str:
        return f"{self.x(row.step):.1f},{self.y(row.loss):.1f}"


def curves(training: Training) -> str:
    """Return the SVG: a point for each step, a ring for each repeated step, a line for the loss of the node."""
    rows = [*training.undisturbed.rows, *training.disturbed.rows]
    losses = [row.loss for row in rows]
    steps = [row.step for row in rows]
    lowest = math.floor(min(losses) * 2) / 2  # codespell:ignore floor
    scale = _Scale((min(steps), max(steps)), (lowest, math.ceil(max(losses) * 2) / 2))
    return (
        f'<svg class="timeline curves" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="the loss of both runs, step by step">{_axes(scale)}'
        f'<polyline class="undisturbed" points="{_points(scale, training.undisturbed.rows)}"/>'
        f"{_lines(scale, training.disturbed.rows)}{_rings(scale, training)}{_loss_of_the_node(scale, training)}</svg>"
    )


def _points(scale: _Scale, rows: Sequence[Row]) -> str:
    return " ".join(map(scale.point, rows))


def _lines(scale: _Scale, rows: Sequence[Row]) -> str:
    """Return a line for each start of the run; restarts have another color and begin at the newest checkpoint."""
    starts = sorted({row.restart for row in rows})
    parts = [[row for row in rows if row.restart == start] for start in starts]
    return "".join(
        f'<polyline class="{"resumed" if number else "disturbed"}" points="{_points(scale, part)}"/>'
        for number, part in enumerate(parts)
    )


def _rings(scale: _Scale, training: Training) -> str:
    seen: set[int] = set()
    again: list[Row] = []
    for row in training.disturbed.rows:
        if row.step in seen:
            again.append(row)
        seen.add(row.step)
    return "".join(
        f'<circle class="again" cx="{scale.x(row.step):.1f}" cy="{scale.y(row.loss):.1f}" r="4">'
        f"<title>step {row.step} was repeated: loss {row.loss:.4f}</title></circle>"
        for row in again
    )


def _loss_of_the_node(scale: _Scale, training: Training) -> str:
    last = max((row for row in training.disturbed.rows if row.at <= training.lost_at), key=lambda row: row.at)
    x = scale.x(last.step)
    words = f"{training.lost_node} is lost; training continues after {training.seconds_to_first_step:.0f} s"
    return (
        f'<line class="lost" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        f'<text class="lost" x="{x + 6:.1f}" y="{_TOP + 12}">{escape(words)}</text>'
    )


def _axes(scale: _Scale) -> str:
    (first, last), (low, high) = scale.steps, scale.losses
    size = next((one for one in _STEPS if (last - first) / one <= _MARKS), _STEPS[-1])
    marks = [
        f'<line class="axis" x1="{scale.x(step):.1f}" x2="{scale.x(step):.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        f'<text class="axis" x="{scale.x(step):.1f}" y="{_HEIGHT - _BOTTOM + 16}">{step}</text>'
        for step in range(math.ceil(first / size) * size, last + 1, size)
    ]
    gap = next((one for one in (0.25, 0.5, 1.0, 2.0, 5.0) if (high - low) / one <= _MARKS), 10.0)
    marks += [
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{scale.y(loss):.1f}" y2="{scale.y(loss):.1f}"/>'
        f'<text class="node" x="{_LEFT - 8}" y="{scale.y(loss) + 4:.1f}">{loss:g}</text>'
        for loss in (low + gap * number for number in range(int((high - low) / gap) + 1))
    ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return "".join(marks) + f'<text class="axis" x="{middle:.0f}" y="{_HEIGHT - 8}">step (vertical axis: loss)</text>'
