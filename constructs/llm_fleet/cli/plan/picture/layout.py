"""Where things stand in a picture, and the ways of its lines."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from llm_fleet.catalog.glyph_widths import text_width
from llm_fleet.cli.plan.picture.scene import Scene, Vpc
from llm_fleet.cli.plan.picture.things import (
    GAP,
    INSET,
    LABEL,
    LANE,
    MARGIN,
    PORT,
    TITLE,
    Column,
    Link,
    Thing,
    card_height,
    card_width,
)

HEAD = 44
"""Height of the picture's own title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From where to where, down the picture."""

    top: int
    bottom: int

    @property
    def middle(self) -> float:
        """Half way."""
        return (self.top + self.bottom) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A region, VPC, zone or subnet."""

    kind: str
    title: str
    depth: int
    """0 is the region."""
    span: Span


@dataclass(slots=True, kw_only=True)
class Frame:
    """How high everything is, and where; how far to the side is decided when lines have been laid between."""

    boxes: list[Box] = field(default_factory=list[Box])
    cards: dict[str, Span] = field(default_factory=dict[str, Span])
    """By keys of things."""
    bottom: int = 0


def frame_of(scene: Scene) -> Frame:
    """Return where each box and card of `scene` stands from top to bottom."""
    return _Framing(scene).frame()


class _Framing:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._frame = Frame()
        self._home = {key: vpc.key for vpc in scene.vpcs for key in vpc.subnets}
        self._ends = _ends(scene)

    def frame(self) -> Frame:
        top = MARGIN + HEAD
        y = top + LABEL
        for vpc in self._scene.vpcs:
            y = self._vpc(vpc, y) + GAP
        outside = [one for one in self._left() if self._vpc_of(one) is None]
        y = self._rows(outside, y)
        bottom = max(y, self._region_column(top + LABEL)) + INSET
        self._frame.boxes.insert(0, _box("region", f"Region {self._scene.region}", 0, top, bottom))
        self._frame.bottom = bottom
        return self._frame

    def _vpc(self, vpc: Vpc, top: int) -> int:
        place = len(self._frame.boxes)
        y = self._rows([one for one in self._left() if self._vpc_of(one) == vpc.key and not _one(one)], top + LABEL)
        for zone in vpc.zones:
            if zone.title:
                y = self._zone(zone.title, [(subnet.key, subnet.title) for subnet in zone.subnets], y) + GAP
            else:
                for subnet in zone.subnets:
                    y = self._subnet(subnet.key, subnet.title, y, depth=2) + GAP
        bottom = y - GAP + INSET
        self._frame.boxes.insert(place, _box("vpc", vpc.title, 1, top, bottom))
        return bottom

    def _zone(self, title: str, subnets: Iterable[tuple[str, str]], top: int) -> int:
        place = len(self._frame.boxes)
        y = top + LABEL
        for key, name in subnets:
            y = self._subnet(key, name, y, depth=3) + GAP // 2
        bottom = y - GAP // 2 + INSET
        self._frame.boxes.insert(place, _box("zone", f"Availability Zone {title}", 2, top, bottom))
        return bottom

    def _subnet(self, key: str, title: str, top: int, *, depth: int) -> int:
        inside = [one for one in self._left() if one.subnets == (key,) and one.stack]
        bottom = self._rows(inside, top + LABEL) if inside else top + LABEL
        self._frame.boxes.append(_box("subnet", title, depth, top, bottom))
        return bottom

    def _rows(self, things: Iterable[Thing], top: int) -> int:
        """Stack `things` in their columns, and return where the longest column ends, with a gap below."""
        ends = dict.fromkeys(Column, top)
        for thing in things:
            bottom = ends[thing.column] + card_height(thing, self._ends[thing.key])
            self._frame.cards[thing.key] = Span(top=ends[thing.column], bottom=bottom)
            ends[thing.column] = bottom + GAP
        return max(ends.values())

    def _region_column(self, top: int) -> int:
        """Stack what stands in no VPC on the right, near the middle of what it has to do with."""
        last = [one for one in self._scene.things.values() if one.column is Column.REGION]
        linked = {one.key: self._linked(one.key) for one in last}
        last.sort(key=lambda one: sum(linked[one.key]) / len(linked[one.key]) if linked[one.key] else float("inf"))
        return self._rows(last, top)

    def _linked(self, key: str) -> list[float]:
        pairs = [(link.source, link.target) for link in self._scene.links]
        others = [b if a == key else a for a, b in pairs if key in (a, b)]
        return [self._frame.cards[other].middle for other in others if other in self._frame.cards]

    def _left(self) -> list[Thing]:
        return [one for one in self._scene.things.values() if one.column is not Column.REGION]

    def _vpc_of(self, thing: Thing) -> str | None:
        if thing.vpc is not None:
            return thing.vpc
        return self._home[thing.subnets[0]] if thing.subnets else None


def _one(thing: Thing) -> bool:
    """Return whether `thing` stands in one subnet for sure; of what exists already no template tells."""
    return len(thing.subnets) == 1 and bool(thing.stack)


def _ends(scene: Scene) -> Mapping[str, int]:
    """Return how many lines end at each card."""
    ends = dict.fromkeys(scene.things, 0)
    for link in scene.links:
        ends[link.source] += 1
        ends[link.target] += 1
    return ends


def _box(kind: str, title: str, depth: int, top: int, bottom: int) -> Box:
    return Box(kind=kind, title=title, depth=depth, span=Span(top=top, bottom=bottom))


# Lines that leave, pass and arrive never run at one height, so that no two of them look like one.
_LEAVES, _PASSES, _ARRIVES = 0, 2, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One line: the heights at which it runs from gutter to gutter."""

    link: Link
    first: Column
    """The column on its left end."""
    last: Column
    """The column on its right end; of a line within one column the same."""
    heights: tuple[int, ...]
    """Height at the first card, in each column between that it passes, and at the last card."""


def routes_of(scene: Scene, frame: Frame) -> list[Route]:
    """Return a route for each line of `scene`."""
    columns = sorted({thing.column for thing in scene.things.values()})
    ports = _ports(scene, frame)
    taken: dict[Column, set[int]] = {column: set() for column in columns}
    return [_route(scene, frame, link, ports, columns, taken) for link in scene.links]


def ordered(scene: Scene, link: Link) -> tuple[str, str]:
    """Return the keys of both ends, that in the column further left first."""
    if scene.things[link.source].column <= scene.things[link.target].column:
        return link.source, link.target
    return link.target, link.source


def _route(
    scene: Scene,
    frame: Frame,
    link: Link,
    ports: Mapping[tuple[str, str, str], int],
    columns: list[Column],
    taken: Mapping[Column, set[int]],
) -> Route:
    left, right = ordered(scene, link)
    first, last = scene.things[left].column, scene.things[right].column
    start, end = ports[left, right, left], ports[left, right, right]
    between = [column for column in columns if first < column < last]
    heights = [start, *(_free(scene, frame, column, end, taken[column]) for column in between), end]
    return Route(link=link, first=first, last=last, heights=tuple(heights))


def _ports(scene: Scene, frame: Frame) -> dict[tuple[str, str, str], int]:
    """Return the height of each end of each line, by both ends' keys and the one that is meant."""
    sides: dict[tuple[str, bool], list[tuple[float, tuple[str, str, str]]]] = {}
    for link in scene.links:
        left, right = ordered(scene, link)
        same = scene.things[left].column is scene.things[right].column
        sides.setdefault((left, True), []).append((frame.cards[right].middle, (left, right, left)))
        sides.setdefault((right, same), []).append((frame.cards[left].middle, (left, right, right)))
    found: dict[tuple[str, str, str], int] = {}
    for (key, leaves), ends in sides.items():
        span = frame.cards[key]
        step = (span.bottom - span.top) / (len(ends) + 1)
        for number, (_, end) in enumerate(sorted(ends), start=1):
            found[end] = _at(span.top + step * number, _LEAVES if leaves else _ARRIVES)
    return found


def _free(scene: Scene, frame: Frame, column: Column, wanted: int, taken: set[int]) -> int:
    """Return the height nearest to `wanted` at which `column` has no card, and no other line passes.

    `wanted` itself is best: the line then runs straight to its end.
    """
    cards = [frame.cards[key] for key, thing in scene.things.items() if thing.column is column]
    if wanted not in taken and not any(_near(card, wanted) for card in cards):
        taken.add(wanted)
        return wanted
    bottom = frame.bottom - PORT
    top = frame.boxes[0].span.top + PORT
    heights = [y for y in range(_at(top, _PASSES) + PORT, bottom, PORT) if not any(_near(card, y) for card in cards)]
    unused = [y for y in heights if y not in taken] or heights
    best = min(unused, key=lambda y: (abs(y - wanted), y))
    taken.add(best)
    return best


def _near(card: Span, y: int) -> bool:
    return card.top - GAP // 4 <= y <= card.bottom + GAP // 4


def _at(y: float, rest: int) -> int:
    """Return the height nearest to `y` that lines of one kind use."""
    return round((y - rest) / PORT) * PORT + rest


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
