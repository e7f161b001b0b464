"""Where lines run: out of a card's side, down the gutters between columns, never through a card."""

from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.cli.plan.picture.frame import Frame, Span
from llm_fleet.cli.plan.picture.measures import GAP, PORT
from llm_fleet.cli.plan.picture.scene import Scene
from llm_fleet.cli.plan.picture.terms import Column
from llm_fleet.cli.plan.picture.thing import Link

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
