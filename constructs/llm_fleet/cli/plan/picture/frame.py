"""Places: boxes within boxes, and the cards in their columns, from top to bottom."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from llm_fleet.cli.plan.picture.measures import GAP, INSET, LABEL, MARGIN, card_height
from llm_fleet.cli.plan.picture.scene import Scene
from llm_fleet.cli.plan.picture.terms import Column
from llm_fleet.cli.plan.picture.thing import Thing
from llm_fleet.cli.plan.picture.vpc import Vpc

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
