"""Draws a picture of the architecture as SVG from a cloud assembly, without the CDK and an account."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from llm_fleet.catalog.glyph_widths import text_width
from llm_fleet.cli.plan.picture_assembly import Assembly, Link, Thing, Verb
from llm_fleet.cli.plan.picture_layout import (
    GAP,
    HEAD,
    LABEL,
    LINE,
    MARGIN,
    PAD,
    SMALL,
    TEXT,
    TITLE,
    Box,
    Layout,
    Line,
    Rectangle,
    ordered,
)
from llm_fleet.cli.plan.picture_scene import Scene

INK, MUTED = "#1d2733", "#4a5866"
GROUND = "#ffffff"
BOXES = {"region": "#fbfcfd", "vpc": "#f3f6f9", "zone": "#e9eff4", "subnet": "#f7fafc"}
BARS = {"front": "#a8551f", "compute": "#2c6aa0", "storage": "#2f7d6e", "watch": "#a03a56", "network": "#5c6b7a"}
CARDS = {"front": "#fdf3ec", "compute": "#edf4fb", "storage": "#ecf7f4", "watch": "#fcf0f3", "network": "#f4f6f8"}
LINES = {
    "asks": ("#a8551f", 2.2, ""),
    "mounts": ("#2f7d6e", 1.8, ""),
    "reads": ("#2c6aa0", 1.3, "5 3"),
    "writes": ("#2c6aa0", 1.5, ""),
    "logs": ("#5c6b7a", 1.2, "2 3"),
    "syncs": ("#2f7d6e", 1.5, "7 3"),
    "uses": ("#5c6b7a", 1.3, ""),
    "notifies": ("#a03a56", 1.5, ""),
    "watched": ("#a03a56", 1.2, "2 3"),
}
"""Color, width and dashes by kind of line."""


def _style() -> str:
    rules = [
        f".ground {{ fill: {GROUND}; }}",
        f"text {{ font: {TEXT:g}px system-ui, sans-serif; fill: {INK}; }}",
        f".head {{ font-size: 16px; font-weight: 600; }} .title {{ font-size: {TITLE:g}px; font-weight: 600; }}",
        f".small {{ font-size: {SMALL:g}px; fill: {MUTED}; }}",
        f".label {{ font-size: {TITLE:g}px; font-weight: 600; fill: {MUTED}; }}",
        ".line { fill: none; stroke-linejoin: round; }",
        ".existing { stroke-dasharray: 5 3; }",
    ]
    rules += [f".{kind} {{ fill: {fill}; stroke: #aab7c4; }}" for kind, fill in BOXES.items()]
    rules += [f".card.{tone} {{ fill: {fill}; stroke: {BARS[tone]}; }}" for tone, fill in CARDS.items()]
    rules.append(".plate { stroke: none; }")
    rules += [f".bar.{tone} {{ fill: {fill}; }}" for tone, fill in BARS.items()]
    for name, (color, width, dashes) in LINES.items():
        dashed = f" stroke-dasharray: {dashes};" if dashes else ""
        rules.append(f".line.{name} {{ stroke: {color}; stroke-width: {width:g};{dashed} }}")
        rules.append(f".arrow.{name} {{ fill: {color}; }}")
    return "\n".join(f"  {rule}" for rule in rules)


STYLE = _style()
_SAMPLE = 34


def painted(layout: Layout) -> str:
    """Return the SVG of `layout`; equal layouts give equal bytes."""
    scene = layout.scene
    legend, height = _legend(layout)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width:g} {height:g}"'
            f' width="{layout.width:g}" height="{height:g}" role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(_title(scene))}</title>',
            f'<desc id="desc">{escape(_described(scene))}</desc>',
            f"<style>\n{STYLE}\n</style>",
            f'<rect class="ground" width="{layout.width:g}" height="{height:g}"/>',
            *(_rectangle(place, box.kind, radius=6) for box, place in layout.boxes),
            *(_line(line, scene) for line in layout.lines),
            *(_label(box, place) for box, place in layout.boxes),
            *(part for thing, place in layout.cards for part in _card(thing, place)),
            f'<text class="head" x="{MARGIN}" y="{MARGIN + HEAD / 2:g}">{escape(_shown_title(layout))}</text>',
            *legend,
            "</svg>",
            "",
        ]
    )


def _title(scene: Scene) -> str:
    return f"Architecture: {', '.join(scene.stacks)}"


def _shown_title(layout: Layout) -> str:
    """Return the title, shortened to the picture's width."""
    words = _title(layout.scene)
    while text_width(words, 16, bold=True) > layout.width - 2 * MARGIN:
        words = words.removesuffix("…")[:-1].rstrip(", ") + "…"
    return words


def _described(scene: Scene) -> str:
    """Return the description of the picture for screen readers."""
    boxes = [vpc.title for vpc in scene.vpcs]
    cards = [
        f"{thing.title} ({', '.join(thing.lines)})" if thing.lines else thing.title for thing in scene.things.values()
    ]
    links = [_sentence(link, scene) for link in scene.links]
    return f"Region {scene.region}. {'; '.join([*boxes, *cards, *links])}."


def _sentence(link: Link, scene: Scene) -> str:
    how = f" ({link.how})" if link.how else ""
    ends = [_short(scene.things[key]) for key in (link.source, link.target)]
    return f"{ends[0]} {link.verb} {ends[1]}{how}"


def _short(thing: Thing) -> str:
    """Return the name of `thing` in a sentence; a bucket's name distinguishes it from others."""
    return f"{thing.title} {thing.lines[0]}" if thing.title == "S3 bucket" else thing.title


def _rectangle(place: Rectangle, kind: str, *, radius: int) -> str:
    size = f'width="{place.width:g}" height="{place.height:g}"'
    return f'<rect class="{kind}" x="{place.x:g}" y="{place.y:g}" {size} rx="{radius}"/>'


def _label(box: Box, place: Rectangle) -> str:
    """Return the title of a box, with a background of the box's color, so that no line crosses it."""
    x, y, width = place.x + PAD, place.y + LABEL - 8, text_width(box.title, TITLE, bold=True)
    plate = f'<rect class="plate {box.kind}" x="{x - 3:g}" y="{y - 13:g}" width="{width + 6:g}" height="18"/>'
    return f'{plate}<text class="label" x="{x:g}" y="{y:g}">{escape(box.title)}</text>'


def _card(thing: Thing, place: Rectangle) -> Iterator[str]:
    yield f"<g><title>{escape(f'{thing.title}: {thing.key}')}</title>"
    yield _rectangle(place, f"card {thing.tone}" + ("" if thing.stack else " existing"), radius=4)
    yield f'<rect class="bar {thing.tone}" x="{place.x:g}" y="{place.y:g}" width="4" height="{place.height:g}"/>'
    x, y = place.x + PAD + 4, place.y + PAD + LINE - 5
    yield f'<text class="title" x="{x:g}" y="{y:g}">{escape(thing.title)}</text>'
    for line in thing.lines:
        y += LINE
        yield f'<text x="{x:g}" y="{y:g}">{escape(line)}</text>'
    if thing.stack:
        yield f'<text class="small" x="{x:g}" y="{y + LINE:g}">{escape(thing.stack)}</text>'
    yield "</g>"


def _line(line: Line, scene: Scene) -> str:
    link = line.link
    verb = link.verb.name.casefold()
    start, *rest = line.points
    path = f"M{start[0]:g} {start[1]:g}" + "".join(f" L{x:g} {y:g}" for x, y in rest)
    reported = f"<title>{escape(_sentence(link, scene))}</title>"
    return f'<g><path class="line {verb}" d="{path}"/>{_head(line, scene, verb)}{reported}</g>'


def _head(line: Line, scene: Scene, verb: str) -> str:
    """Return the arrow head, at the end of the line, or at its start if that is the target."""
    ends_last = ordered(scene, line.link)[0] == line.link.source
    (from_x, from_y), (x, y) = line.points[-2:] if ends_last else line.points[1::-1]
    if x == from_x:
        return _arrow(x, y, f"l-3.5 {7 if from_y > y else -7} h7", verb)
    return _arrow(x, y, f"l{7 if from_x > x else -7} -3.5 v7", verb)


def _arrow(x: float, y: float, sides: str, verb: str) -> str:
    return f'<path class="arrow {verb}" d="M{x:g} {y:g} {sides} z"/>'


def _legend(layout: Layout) -> tuple[list[str], float]:
    """Return the legend of the lines in one or more rows, and the height of the picture."""
    used = [verb for verb in Verb if any(line.link.verb is verb for line in layout.lines)]
    x, y = float(MARGIN), layout.height + GAP + LINE
    made: list[str] = []
    for verb in used:
        width = _SAMPLE + 8 + text_width(verb, SMALL) + 24
        if x + width > layout.width - MARGIN and x > MARGIN:
            x, y = float(MARGIN), y + LINE + 4
        name = verb.name.casefold()
        made.append(f'<path class="line {name}" d="M{x:g} {y - 4:g} h{_SAMPLE}"/>')
        made.append(_arrow(x + _SAMPLE, y - 4, "l-7 -3.5 v7", name))
        made.append(f'<text class="small" x="{x + _SAMPLE + 8:g}" y="{y:g}">{escape(verb)}</text>')
        x += width
    return made, (y if used else layout.height) + MARGIN


def picture_of(assembly: Path) -> str:
    """Return the SVG of the cloud assembly in the directory `assembly`, usually `cdk.out`.

    It shows the Region, VPCs, Availability Zones and subnets as boxes; in them clusters, services, SageMaker's
    resources, file systems and databases; next to them buckets, alarms and topics; and requests, mounts, reads, writes
    and notifications as lines. Permissions are those of the policies in the templates. Roles, keys, log groups and
    security groups are left out. Equal assemblies give equal bytes.

    Raises `FleetError` if the directory is not a cloud assembly.
    """
    return painted(Layout.of(Scene.of(Assembly.read(assembly))))
