"""Positions of things and lines in a picture, calculated in this process by Graphviz (`pygraphviz`).

Graphviz gets the sizes of cards and titles, but no text, so the result does not depend on the fonts of the machine.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from math import ceil
from typing import Any, Self

from llm_fleet.catalog.glyph_widths import text_width
from llm_fleet.cli.plan.picture_assembly import Column, Link, Thing
from llm_fleet.cli.plan.picture_scene import Scene
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import PlanCode

TITLE, TEXT, SMALL = 13.0, 12.0, 11.0
"""Font sizes: titles of cards, their lines, and other texts."""
LINE, PAD = 16, 10
INSET = 14
"""Distance between the edges of a box and of a box in it."""
LABEL = 26
"""Height of the title of a box."""
GAP = 16
"""Distance between two cards, and between two boxes."""
PORT = 6
"""Smallest distance between two ends of lines on one side of a card."""
MARGIN = 24


def card_width(thing: Thing) -> float:
    """Return the width of the card of `thing`, from its text."""
    title = text_width(thing.title, TITLE, bold=True)
    lines = [text_width(line, TEXT) for line in thing.lines]
    stack = text_width(thing.stack, SMALL)
    return max(title, stack, *lines, 90) + 2 * PAD + 4


def card_height(thing: Thing, ends: int) -> int:
    """Return the height of the card of `thing`, from its text and the `ends` of lines on one side."""
    text = PAD + LINE * (1 + len(thing.lines) + bool(thing.stack)) + PAD
    return max(text, PORT * (ends + 2))


HEAD = 44
"""Height of the picture's own title."""
_INCH = 72
"""Graphviz takes sizes in inches, and returns points; one point is one pixel of the picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rectangle:
    """A place with its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A region, VPC, zone or subnet."""

    kind: str
    title: str
    depth: int
    """0 is the region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line with its corners, from the left card."""

    link: Link
    points: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Positions of all elements."""

    scene: Scene
    width: float
    height: float
    """Height to the end of the Region; the legend is below."""
    boxes: tuple[tuple[Box, Rectangle], ...]
    """Outer boxes first."""
    cards: tuple[tuple[Thing, Rectangle], ...]
    lines: tuple[Line, ...]

    @classmethod
    def of(cls, scene: Scene) -> Self:
        """Return the layout of `scene`. Raises `FleetError` (LF1098) if Graphviz is not installed."""
        graph = _Graph(scene)
        # https://graphviz.org/docs/outputs/json/
        paper = _Paper(json.loads(graphviz().AGraph(string=graph.text()).draw(format="json", prog="dot")))
        title = f"Region {scene.region}"
        width = max(paper.width, text_width(title, TITLE, bold=True) + 2 * PAD) + 2 * INSET
        region = Rectangle(x=MARGIN, y=MARGIN + HEAD, width=width, height=LABEL + paper.height + INSET)
        boxes = [(box, paper.boxes[name]) for name, box in graph.boxes.items()]
        return cls(
            scene=scene,
            width=region.right + MARGIN,
            height=region.bottom,
            boxes=((Box(kind="region", title=title, depth=0), region), *boxes),
            cards=tuple((thing, paper.cards[key]) for key, thing in scene.things.items()),
            lines=tuple(Line(link=link, points=points) for link, points in zip(scene.links, paper.lines, strict=True)),
        )


def ordered(scene: Scene, link: Link) -> tuple[str, str]:
    """Return the keys of both ends, the left column first."""
    if scene.things[link.source].column <= scene.things[link.target].column:
        return link.source, link.target
    return link.target, link.source


class _Graph:
    """A scene in Graphviz's language: boxes are clusters, columns are ranks."""

    def __init__(self, scene: Scene) -> None:
        self.boxes: dict[str, Box] = {}
        """Boxes by the names of their clusters; outer boxes first."""
        self._scene = scene
        self._home = {key: vpc.key for vpc in scene.vpcs for key in vpc.subnets}
        self._ends = dict.fromkeys(scene.things, 0)
        self._columns: dict[Column, list[Thing]] = {}
        for thing in scene.things.values():
            self._columns.setdefault(thing.column, []).append(thing)
        for key in (key for link in scene.links for key in (link.source, link.target)):
            self._ends[key] += 1

    def text(self) -> str:
        return "\n".join(
            [
                f"digraph {{ rankdir=LR; newrank=true; splines=ortho; nodesep={GAP / _INCH:.3f}; ranksep=0.9;",
                'node [shape=box, fixedsize=true, label=""]; edge [arrowhead=none];',
                *self._vpcs(),
                *self._cards(one for one in self._scene.things.values() if self._vpc_of(one) is None),
                *self._ranks(),
                *self._lines(),
                "}",
            ]
        )

    def _vpcs(self) -> Iterator[str]:
        inside = [one for one in self._scene.things.values() if self._vpc_of(one)]
        for vpc in self._scene.vpcs:
            yield self._open("vpc", vpc.title, 1)
            here = [one for one in inside if self._vpc_of(one) == vpc.key and not _is_in_one(one)]
            yield from self._cards(here) if here or vpc.zones else _no_card(vpc.key)
            for zone in vpc.zones:
                if zone.title:
                    yield self._open("zone", f"Availability Zone {zone.title}", 2)
                for subnet in zone.subnets:
                    yield self._open("subnet", subnet.title, 3 if zone.title else 2)
                    here = [one for one in inside if _is_in_one(one) and one.subnets == (subnet.key,)]
                    yield from self._cards(here) if here else _no_card(subnet.key)
                    yield "}"
                yield from ["}"] if zone.title else []
            yield "}"

    def _open(self, kind: str, title: str, depth: int) -> str:
        name = f"cluster{len(self.boxes)}"
        self.boxes[name] = Box(kind=kind, title=title, depth=depth)
        width = text_width(title, TITLE, bold=True) + 2 * PAD
        size = f'BORDER="0" FIXEDSIZE="TRUE" WIDTH="{width:.0f}" HEIGHT="{LABEL - INSET}"'
        label = f"<<TABLE {size}><TR><TD></TD></TR></TABLE>>"
        return f"subgraph {name} {{ margin={INSET}; labeljust=l; label={label};"

    def _cards(self, things: Iterable[Thing]) -> Iterator[str]:
        for thing in things:
            width = ceil(max(map(card_width, self._columns[thing.column]))) / _INCH
            height = card_height(thing, self._ends[thing.key]) / _INCH
            yield f"{_quoted(thing.key)} [width={width:.4f}, height={height:.4f}];"

    def _ranks(self) -> Iterator[str]:
        columns = [[_quoted(one.key) for one in things] for _, things in sorted(self._columns.items())]
        yield from (f"{{ rank=same; {' '.join(keys)} }}" for keys in columns)
        yield from (f"{left[0]} -> {right[0]} [style=invis];" for left, right in pairwise(columns))

    def _lines(self) -> Iterator[str]:
        for number, link in enumerate(self._scene.links):
            first, last = ordered(self._scene, link)
            same = self._scene.things[first].column is self._scene.things[last].column
            yield f"{_quoted(first)} -> {_quoted(last)} [class={number}{', constraint=false' if same else ''}];"

    def _vpc_of(self, thing: Thing) -> str | None:
        if thing.column is Column.REGION:
            return None
        return thing.vpc or (self._home[thing.subnets[0]] if thing.subnets else None)


def _is_in_one(thing: Thing) -> bool:
    """Return whether `thing` is in exactly one subnet; unknown for existing resources."""
    return len(thing.subnets) == 1 and bool(thing.stack)


def _no_card(box: str) -> list[str]:
    """Return a node for an empty `box`: Graphviz draws no empty cluster."""
    return [f"{_quoted(f'in {box}')} [style=invis, width=0.01, height=0.01];"]


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def graphviz() -> Any:
    """Return `pygraphviz`, whose classes have no types. Raises `FleetError` (LF1098) if it is missing."""
    try:
        return import_module("pygraphviz")
    except ImportError:
        refuse(
            PlanCode.NO_GRAPHVIZ,
            "--picture requires Graphviz, which is not installed",
            "run `pip install 'llm-fleet[picture]'`, or remove --picture",
        )


class _Paper:
    """Graphviz's result in pixels of the picture, from its upper left corner."""

    def __init__(self, reported: Mapping[str, Any]) -> None:
        _, _, self.width, self.height = _numbers(reported["bb"])
        objects: list[dict[str, Any]] = reported.get("objects", [])
        self.boxes = {one["name"]: self._place(*_numbers(one["bb"])) for one in objects if "bb" in one}
        self.cards = {one["name"]: self._card(one) for one in objects if "pos" in one}
        edges = [one for one in reported.get("edges", ()) if "class" in one]
        self.lines = [self._line(one["pos"]) for one in sorted(edges, key=lambda one: int(one["class"]))]

    def _at(self, x: float, y: float) -> tuple[int, int]:
        """Return a point of Graphviz, whose origin is at the bottom, as the nearest pixel of the picture."""
        return round(MARGIN + INSET + x), round(MARGIN + HEAD + LABEL + self.height - y)

    def _place(self, left: float, low: float, right: float, high: float) -> Rectangle:
        (x, y), (end, bottom) = self._at(left, high), self._at(right, low)
        return Rectangle(x=x, y=y, width=end - x, height=bottom - y)

    def _card(self, node: Mapping[str, Any]) -> Rectangle:
        x, y = _numbers(node["pos"])
        across, up = float(node["width"]) * _INCH / 2, float(node["height"]) * _INCH / 2
        return self._place(x - across, y - up, x + across, y + up)

    def _line(self, curve: str) -> tuple[tuple[int, int], ...]:
        """Return the corners of a curve whose parts are horizontal or vertical lines."""
        corners: list[tuple[int, int]] = []
        for point in (self._at(*_numbers(one)) for one in curve.split()):
            if len(corners) > 1 and any(corners[-2][n] == corners[-1][n] == point[n] for n in (0, 1)):
                corners.pop()
            if point not in corners[-1:]:
                corners.append(point)
        return tuple(corners)


def _numbers(text: str) -> list[float]:
    return [float(one) for one in text.split(",")]
