"""The whole picture with a place for everything, to the side as well."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from llm_fleet.catalog.glyph_widths import text_width
from llm_fleet.cli.plan.picture.frame import Box, Frame, frame_of
from llm_fleet.cli.plan.picture.measures import GAP, INSET, LANE, MARGIN, TITLE, card_width
from llm_fleet.cli.plan.picture.routes import Route, routes_of
from llm_fleet.cli.plan.picture.scene import Scene
from llm_fleet.cli.plan.picture.terms import Column
from llm_fleet.cli.plan.picture.thing import Thing

_DEPTH = 4
"""Boxes within boxes: region, VPC, zone, subnet."""


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
class Line:
    """A line with its corners; the last is where it ends."""

    route: Route
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where everything is."""

    scene: Scene
    width: float
    height: float
    """Down to the end of the region; what explains the lines comes below."""
    boxes: tuple[tuple[Box, Rectangle], ...]
    """Outer ones first."""
    cards: tuple[tuple[Thing, Rectangle], ...]
    lines: tuple[Line, ...]

    @classmethod
    def of(cls, scene: Scene) -> Self:
        """Return where everything of `scene` is."""
        frame = frame_of(scene)
        routes = routes_of(scene, frame)
        lanes = _Lanes(routes, sorted({thing.column for thing in scene.things.values()}))
        sides = _Sides(scene, frame, lanes)
        cards = {key: sides.card(thing) for key, thing in scene.things.items()}
        return cls(
            scene=scene,
            width=sides.right + MARGIN,
            height=frame.bottom,
            boxes=tuple((box, sides.box(box)) for box in frame.boxes),
            cards=tuple((scene.things[key], place) for key, place in cards.items()),
            lines=tuple(Line(route=route, points=sides.points(route)) for route in routes),
        )


class _Lanes:
    """Which lane of which gutter each line takes; two lines of one lane never meet."""

    def __init__(self, routes: list[Route], columns: list[Column]) -> None:
        self.columns = columns
        self.of: dict[tuple[int, Column], int] = {}
        """By the number of the route, and the column left of the gutter."""
        self.counts = dict.fromkeys(columns, 0)
        falls = [
            (column, min(a, b), max(a, b), number)
            for number, route in enumerate(routes)
            for column, (a, b) in self.falls(route)
        ]
        used: dict[Column, list[list[tuple[int, int]]]] = {column: [] for column in columns}
        for column, top, bottom, number in sorted(falls):
            lanes = used[column]
            free = [n for n, lane in enumerate(lanes) if all(bottom + 4 < a or b + 4 < top for a, b in lane)]
            if not free:
                lanes.append([])
            lane = free[0] if free else len(lanes) - 1
            lanes[lane].append((top, bottom))
            self.of[number, column] = lane
            self.counts[column] = len(lanes)
        self.numbers = {id(route): number for number, route in enumerate(routes)}

    def falls(self, route: Route) -> list[tuple[Column, tuple[int, int]]]:
        """Return the gutters in which `route` runs down or up, from which height to which."""
        if route.first is route.last:
            return [(route.first, (route.heights[0], route.heights[-1]))]
        passed = [column for column in self.columns if route.first <= column < route.last]
        return list(zip(passed, zip(route.heights, route.heights[1:], strict=False), strict=True))


class _Sides:
    """How far from the left edge columns and gutters are."""

    def __init__(self, scene: Scene, frame: Frame, lanes: _Lanes) -> None:
        self._frame, self._lanes = frame, lanes
        self._widths = dict.fromkeys(lanes.columns, 0.0)
        for thing in scene.things.values():
            self._widths[thing.column] = max(self._widths[thing.column], card_width(thing))
        self._lefts: dict[Column, float] = {}
        x: float = MARGIN + _DEPTH * INSET
        inner = x
        for column in lanes.columns:
            if column is Column.REGION:
                inner = self._inner_end(inner)
                x = max(x, inner + (_DEPTH - 1) * INSET + self._gutter_before_region())
            self._lefts[column] = x
            inner = x + self._widths[column] if column is not Column.REGION else inner
            x += self._widths[column] + self._gutter(column)
        if Column.REGION not in lanes.columns:
            inner = self._inner_end(inner)
            x = max(x, inner + (_DEPTH - 1) * INSET + GAP)
        self._inner = inner
        self.right = max(x, MARGIN + self._label(0))

    def card(self, thing: Thing) -> Rectangle:
        """Return the place of a card."""
        span = self._frame.cards[thing.key]
        x = self._lefts[thing.column]
        return Rectangle(x=x, y=span.top, width=self._widths[thing.column], height=span.bottom - span.top)

    def box(self, box: Box) -> Rectangle:
        """Return the place of a box: the region around everything, others around the columns before the last."""
        x = MARGIN + box.depth * INSET
        right = self.right if box.depth == 0 else self._inner + (_DEPTH - box.depth) * INSET
        return Rectangle(x=x, y=box.span.top, width=right - x, height=box.span.bottom - box.span.top)

    def points(self, route: Route) -> tuple[tuple[float, float], ...]:
        """Return the corners of a line, from its left end to its right."""
        number = self._lanes.numbers[id(route)]
        x, y = self._right_of(route.first), float(route.heights[0])
        found = [(x, y)]
        for column, (start, end) in self._lanes.falls(route):
            lane = self._lane(column, self._lanes.of[number, column])
            found += [(lane, float(start)), (lane, float(end))]
        ends_left = route.first is not route.last
        found.append((self._lefts[route.last] if ends_left else self._right_of(route.last), float(route.heights[-1])))
        return tuple(found)

    def _lane(self, column: Column, lane: int) -> float:
        start = self._right_of(column)
        after = [one for one in self._lanes.columns if one > column]
        # Before the last column lines run beside the boxes, not along their edges.
        if after and after[0] is Column.REGION:
            start = self._lefts[Column.REGION] - self._gutter_before_region()
        return start + GAP + lane * LANE

    def _right_of(self, column: Column) -> float:
        return self._lefts[column] + self._widths[column]

    def _gutter(self, column: Column) -> float:
        count = self._lanes.counts[column]
        return 2 * GAP + count * LANE if count else GAP

    def _gutter_before_region(self) -> float:
        before = [column for column in self._lanes.columns if column is not Column.REGION]
        return self._gutter(before[-1]) if before else 0.0

    def _inner_end(self, end: float) -> float:
        """Return `end`, or further right where a box has a longer title."""
        return max(end, *(self._label(depth) + MARGIN - (_DEPTH - depth) * INSET for depth in range(1, _DEPTH)))

    def _label(self, depth: int) -> float:
        titles = [text_width(box.title, TITLE, bold=True) for box in self._frame.boxes if box.depth == depth]
        return max(titles, default=0.0) + (depth + 2) * INSET


def places(layout: Layout) -> Mapping[str, Rectangle]:
    """Return the places of the cards by the keys of their things."""
    return {thing.key: place for thing, place in layout.cards}
