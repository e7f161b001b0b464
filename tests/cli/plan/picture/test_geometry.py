"""Nothing in a picture covers anything else, and all text fits where it stands."""

from itertools import combinations, pairwise

import pytest

from llm_fleet.catalog.glyph_widths import text_width
from llm_fleet.cli.plan.picture.assembly import Assembly
from llm_fleet.cli.plan.picture.layout import Layout, Rectangle
from llm_fleet.cli.plan.picture.measures import PAD, SMALL, TEXT, TITLE
from llm_fleet.cli.plan.picture.scene import Scene
from tests.examples_made import ExamplesMade
from tools.synth_examples import EXAMPLES


@pytest.fixture(scope="module", params=[path.stem for path in EXAMPLES])
def layout(request: pytest.FixtureRequest, examples_made: ExamplesMade) -> Layout:
    return Layout.of(Scene.of(Assembly.read(examples_made.of(request.param))))


def test_no_card_covers_another(layout: Layout):
    covering = [
        (a.title, b.title) for (a, first), (b, second) in combinations(layout.cards, 2) if overlap(first, second)
    ]
    assert layout.cards
    assert covering == []


def test_every_card_stands_in_the_box_of_its_only_subnet(layout: Layout):
    titles = {subnet.key: subnet.title for vpc in layout.scene.vpcs for zone in vpc.zones for subnet in zone.subnets}
    boxes = {box.title: place for box, place in layout.boxes if box.kind == "subnet"}
    for thing, place in layout.cards:
        if len(thing.subnets) == 1 and thing.stack:
            assert within(place, boxes[titles[thing.subnets[0]]]), thing.title
        assert within(place, layout.boxes[0][1]), thing.title


def test_every_box_stands_in_the_one_around_it_and_beside_the_others(layout: Layout):
    for depth in (0, 1, 2, 3):
        same = [place for box, place in layout.boxes if box.depth == depth]
        assert not any(overlap(a, b) for a, b in combinations(same, 2))
        inner = [place for box, place in layout.boxes if box.depth == depth + 1]
        assert all(any(within(place, outer) for outer in same) for place in inner)


def test_text_fits_its_card_and_its_box(layout: Layout):
    for thing, place in layout.cards:
        widths = [text_width(thing.title, TITLE, bold=True), text_width(thing.stack, SMALL)]
        widths += [text_width(line, TEXT) for line in thing.lines]
        assert max(widths) <= place.width - 2 * PAD, thing
    for box, place in layout.boxes:
        assert text_width(box.title, TITLE, bold=True) <= place.width - 2 * PAD, box


def test_no_line_runs_through_a_card(layout: Layout):
    for line in layout.lines:
        for start, end in pairwise(line.points):
            x, y = min(start[0], end[0]), min(start[1], end[1])
            run = Rectangle(x=x, y=y, width=abs(start[0] - end[0]), height=abs(start[1] - end[1]))
            through = [thing.title for thing, place in layout.cards if overlap(run, place)]
            assert through == [], (line.route.link, run)


def test_every_line_runs_straight_and_ends_at_its_cards(layout: Layout):
    places = {thing.key: place for thing, place in layout.cards}
    for line in layout.lines:
        assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(line.points))
        ends = {line.route.link.source, line.route.link.target}
        for x, y in (line.points[0], line.points[-1]):
            assert any(
                x in (places[key].x, places[key].right) and places[key].y <= y <= places[key].bottom for key in ends
            )


@pytest.mark.parametrize("across", [0, 1], ids=["down", "across"])
def test_no_two_lines_run_upon_one_another(layout: Layout, across: int):
    along = 1 - across
    runs = [
        (a[across], min(a[along], b[along]), max(a[along], b[along]), number)
        for number, line in enumerate(layout.lines)
        for a, b in pairwise(line.points)
        if a[across] == b[across] and a[along] != b[along]
    ]
    for (place, start, end, one), (other_place, other_start, other_end, other) in combinations(runs, 2):
        assert one == other or place != other_place or end <= other_start or other_end <= start


def overlap(a: Rectangle, b: Rectangle) -> bool:
    """Return whether they have a point in common that is on no edge of theirs."""
    return a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom


def within(inner: Rectangle, outer: Rectangle) -> bool:
    return outer.x <= inner.x and inner.right <= outer.right and outer.y <= inner.y and inner.bottom <= outer.bottom
