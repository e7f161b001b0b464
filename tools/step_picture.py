"""Draws the steps of the lifecycle scripts with their dependencies as one SVG."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from tools.synth_environment import ROOT

sys.path.insert(0, str(ROOT / "lifecycle_scripts"))

from llm_fleet_node.step import COMPUTE, CONTROLLER, LOGIN, Step
from llm_fleet_node.steps import every_step

TARGET = ROOT / "docs" / "how-a-node-comes-up.svg"
_BOX, _ROW, _COLUMN, _LEFT, _TOP = (148, 34), 50, 196, 20, 64
_ROLES = ((CONTROLLER, "c"), (LOGIN, "l"), (COMPUTE, "w"))
_STYLE = """
  .ground { fill: #ffffff; } .box { fill: #f5f7f9; stroke: #8796a5; }
  text { font: 12px system-ui, sans-serif; fill: #1d2733; } .head { font-size: 13px; fill: #5c6b7a; }
  .needs { fill: none; stroke: #3b8f7f; stroke-width: 1.4; }
  .after { fill: none; stroke: #9aa7b3; stroke-width: 1.1; stroke-dasharray: 4 3; }
  .c { fill: #b8683a; } .l { fill: #7a6bb5; } .w { fill: #3b7fb5; }
""".strip("\n")


def picture(steps: Mapping[str, Step]) -> str:
    """Return the SVG of `steps`: columns from left to right, each step to the right of its dependencies."""
    before = {name: {one for one in (*step.needs, *step.after) if one in steps} for name, step in steps.items()}
    places = _places(before)
    width = _LEFT * 2 + _COLUMN * (max(column for column, _ in places.values()) + 1) - (_COLUMN - _BOX[0])
    height = _TOP + _ROW * (max(row for _, row in places.values()) + 1)
    lines = [line for name, step in steps.items() for line in _lines(name, step, places, _direct(before[name], before))]
    boxes = [_box(name, step, places[name]) for name, step in sorted(steps.items())]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>Node configuration: {len(steps)} steps</title>",
            f"<style>\n{_STYLE}\n</style>",
            f'<rect class="ground" width="{width}" height="{height}"/>',
            *_legend(),
            *lines,
            *boxes,
            "</svg>",
            "",
        ]
    )


def _places(before: Mapping[str, set[str]]) -> dict[str, tuple[int, int]]:
    """Return column and row of each step: in a free place, near the middle of its dependencies."""
    columns: dict[str, int] = {}
    while len(columns) < len(before):
        free = [name for name in sorted(before) if name not in columns and before[name] <= columns.keys()]
        if not free:
            raise ValueError(f"steps wait for each other: {sorted(before.keys() - columns.keys())}")
        columns |= {name: max((columns[one] + 1 for one in before[name]), default=0) for name in free}
    places: dict[str, tuple[int, int]] = {}
    for column in range(max(columns.values()) + 1):
        members = sorted(name for name, own in columns.items() if own == column)
        members.sort(key=lambda name: _middle(before[name], places))
        for row, name in enumerate(members):
            places[name] = (column, row)
    return places


def _middle(names: Iterable[str], places: Mapping[str, tuple[int, int]]) -> float:
    rows = [places[name][1] for name in names]
    return sum(rows) / len(rows) if rows else 0.0


def _direct(names: set[str], before: Mapping[str, set[str]]) -> set[str]:
    """Return those of `names` on which no other of them depends."""
    return {one for one in names if not any(one in _all_before(other, before) for other in names - {one})}


def _all_before(name: str, before: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    left = [name]
    while left:
        fresh = before[left.pop()] - found
        found |= fresh
        left += fresh
    return found


def _lines(name: str, step: Step, places: Mapping[str, tuple[int, int]], direct: set[str]) -> list[str]:
    drawn: list[str] = []
    for one in sorted(direct):
        kind = "needs" if one in step.needs else "after"
        x1, y1 = _corner(places[one])
        x2, y2 = _corner(places[name])
        x1, y1, y2 = x1 + _BOX[0], y1 + _BOX[1] / 2, y2 + _BOX[1] / 2
        bend = (x2 - x1) / 2
        drawn.append(f'<path class="{kind}" d="M{x1} {y1:g} C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2} {y2:g}"/>')
    return drawn


def _box(name: str, step: Step, place: tuple[int, int]) -> str:
    x, y = _corner(place)
    dots = "".join(
        f'<circle class="{mark}" cx="{x + _BOX[0] - 34 + number * 12}" cy="{y + _BOX[1] // 2}" r="4"/>'
        for number, (role, mark) in enumerate(_ROLES)
        if role in step.roles
    )
    return (
        f'<g><rect class="box" x="{x}" y="{y}" width="{_BOX[0]}" height="{_BOX[1]}" rx="5"/>'
        f'<text x="{x + 8}" y="{y + 21}">{escape(name)}</text>{dots}<title>{escape(step.summary)}</title></g>'
    )


def _corner(place: tuple[int, int]) -> tuple[int, int]:
    return _LEFT + place[0] * _COLUMN, _TOP + place[1] * _ROW


def _legend() -> list[str]:
    made = ['<text class="head" x="20" y="24">a step starts when all steps before it have ended</text>']
    x = 20
    for (role, mark), shown in zip(_ROLES, ("controller", "login", "workers"), strict=True):
        made.append(f'<circle class="{mark}" cx="{x + 4}" cy="42" r="4"/>')
        made.append(f'<text class="head" x="{x + 14}" y="46">{shown if role else ""}</text>')
        x += 96
    made.append(f'<path class="needs" d="M{x} 42 h30"/><text class="head" x="{x + 38}" y="46">needs it</text>')
    x += 120
    after = f'<path class="after" d="M{x} 42 h30"/>'
    made.append(f'{after}<text class="head" x="{x + 38}" y="46">waits for it, if it is there</text>')
    return made


def main(target: Path = TARGET) -> None:
    """Write the picture."""
    target.write_text(picture(every_step()), encoding="utf-8")


if __name__ == "__main__":
    main()
