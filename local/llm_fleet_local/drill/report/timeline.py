"""The timeline: every step of every node, as one SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from llm_fleet_local.drill.report.model import ScriptRun, StepRun, waited_for

_WIDTH, _LEFT, _RIGHT, _TOP = 1180, 130, 24, 30
_LANE, _GAP = 15, 7
_LETTER = 6.1
"""Width of a letter of a bar's text, in pixels."""


@dataclass(frozen=True)
class _Scale:
    start: float
    end: float

    def x(self, at: float) -> float:
        return _LEFT + (at - self.start) / max(self.end - self.start, 0.001) * (_WIDTH - _LEFT - _RIGHT)


def timeline(runs: Sequence[ScriptRun]) -> str:
    """Return the SVG of `runs`: a row for each node, a bar for each step, the slowest path with thick outlines."""
    scale = _Scale(min(run.started for run in runs), max(run.ended for run in runs))
    slowest = max(runs, key=lambda run: run.ended)
    rows: list[str] = []
    y = float(_TOP)
    for run in runs:
        drawn, height = _row(run, y, scale, waits=waited_for(run, runs), is_slowest=run is slowest)
        rows.append(drawn)
        y += height + _GAP
    height = y + 4
    return (
        f'<svg class="timeline" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
        f'aria-label="every step on every node">{_axis(scale, height)}{"".join(rows)}</svg>'
    )


def lanes(steps: Sequence[StepRun]) -> list[list[StepRun]]:
    """Return the steps in the smallest number of lanes without overlaps, in the order of their start."""
    made: list[list[StepRun]] = []
    for step in sorted((step for step in steps if step.started is not None), key=_started):
        free = next((lane for lane in made if _ended(lane[-1]) <= _started(step)), None)
        if free is None:
            made.append([step])
        else:
            free.append(step)
    return made


def _row(run: ScriptRun, y: float, scale: _Scale, *, waits: Mapping[str, str], is_slowest: bool) -> tuple[str, float]:
    placed = lanes(run.steps)
    height = max(len(placed), 1) * _LANE
    x, width = scale.x(run.started), scale.x(run.ended) - scale.x(run.started)
    state = "bad" if run.exit_code else "whole"
    label = f'<text class="node" x="{_LEFT - 8}" y="{y + 11:.1f}">{escape(run.node)}</text>'
    hover = f"{run.node} ({run.role}): {run.ended - run.started:.2f} s, {run.code}"
    ground = (
        f'<rect class="{state}" x="{x:.1f}" y="{y - 2:.1f}" width="{width:.1f}" height="{height + 3:.1f}" rx="3">'
        f"<title>{escape(hover)}</title></rect>"
    )
    path = run.slowest_path if is_slowest else ()
    bars = "".join(
        _bar(step, y + number * _LANE, scale, on_path=step.name in path, waited_for=waits.get(step.name))
        for number, lane in enumerate(placed)
        for step in lane
    )
    return label + ground + bars, height


def _bar(step: StepRun, y: float, scale: _Scale, *, on_path: bool, waited_for: str | None) -> str:
    x = scale.x(_started(step))
    width = max(scale.x(_ended(step)) - x, 1.5)
    kind = step.state if step.state != "done" or step.changes else "waited" if waited_for else "unchanged"
    name = step.name if len(step.name) * _LETTER < width - 4 else ""
    text = f'<text x="{x + 3:.1f}" y="{y + 9.5:.1f}">{escape(name)}</text>' if name else ""
    path = " path" if on_path else ""
    return (
        f'<g class="step {escape(kind)}{path}"><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{_LANE - 2}" rx="2"/>{text}<title>{escape(hover_text(step, waited_for))}</title></g>'
    )


def hover_text(step: StepRun, waited_for: str | None = None) -> str:
    """Return the details of a step, which the page shows when the pointer is over its bar."""
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in step.seconds.items())
    lines = [
        f"{step.name}: {step.summary}",
        f"{_ended(step) - _started(step):.2f} s" + (f" ({parts})" if parts else ""),
    ]
    if step.attempts > 1:
        lines.append(f"{step.attempts} attempts")
    idle = f"waited for {waited_for}" if waited_for else "nothing to change"
    lines.append(f"{len(step.changes)} changes" if step.changes else idle)
    if step.code:
        lines += [f"{step.code}  {step.cause}", f"remedy: {step.remedy}"]
    return "\n".join(lines)


def _axis(scale: _Scale, height: float) -> str:
    whole = scale.end - scale.start
    step = next(size for size in (0.2, 0.5, 1, 2, 5, 10, 20, 60, 300, 3600) if whole / size <= 14 or size == 3600)
    marks: list[str] = []
    for number in range(int(whole / step) + 1):
        x = scale.x(scale.start + number * step)
        marks.append(
            f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{height:.0f}"/>'
            f'<text class="axis" x="{x:.1f}" y="12">{number * step:g} s</text>'
        )
    return "".join(marks)


def _started(step: StepRun) -> float:
    return step.started or 0.0


def _ended(step: StepRun) -> float:
    return step.ended if step.ended is not None else _started(step)
