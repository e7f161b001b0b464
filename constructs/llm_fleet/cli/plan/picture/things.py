"""What a picture shows: things, their names, sizes and colours."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

from llm_fleet.catalog.glyph_widths import text_width


class Column(IntEnum):
    """Columns of the picture from left to right: what asks, what computes, what keeps; then what stands in no VPC."""

    FRONT = 0
    COMPUTE = 1
    STORAGE = 2
    REGION = 3


class Tone(StrEnum):
    """What sort of thing a card shows; its colour."""

    FRONT = "front"
    COMPUTE = "compute"
    STORAGE = "storage"
    WATCH = "watch"
    NETWORK = "network"


class Verb(StrEnum):
    """What one thing does with another; a line's colour and dashes. The words stand in the legend."""

    ASKS = "sends requests to"
    MOUNTS = "mounts"
    READS = "reads"
    WRITES = "reads and writes"
    LOGS = "writes logs to"
    SYNCS = "imports from, exports to"
    USES = "uses"
    TELLS = "alarms tell"
    WATCHED = "is watched by"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One card."""

    key: str
    """`<stack>.<logical id>`, or the name of what exists already."""
    title: str
    lines: tuple[str, ...]
    tone: Tone
    column: Column
    stack: str = ""
    """The stack that makes it; empty for what exists already."""
    subnets: tuple[str, ...] = ()
    """Keys of its subnets; an id where they exist already. Empty: it stands in none."""
    vpc: str | None = None
    """The VPC in which it stands without a subnet, as a gateway does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One line."""

    source: str
    target: str
    verb: Verb
    how: str = ""
    """A word more, e.g. where a file system is mounted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """One resource of one stack, as the template has it."""

    stack: str
    logical_id: str
    type: str
    """E.g. `AWS::FSx::FileSystem`."""
    properties: Mapping[str, Any]
    path: str
    """Where its construct stands in the tree, below the stack: `Bucket-data/Resource`. Empty if nothing tells."""

    @property
    def key(self) -> str:
        """What it is known by in the whole assembly."""
        return f"{self.stack}.{self.logical_id}"


LONGEST = 42
"""Letters of a line of a card; what is longer is cut with an ellipsis."""
_TIMES = "\N{MULTIPLICATION SIGN}"


def short(text: str, most: int = LONGEST) -> str:
    """Return `text` within `most` letters, cut in its middle, since names differ at both ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def construct_name(path: str, logical_id: str) -> str:
    """Return what a construct is called: its path below the stack, without the ids that every construct has.

    `logical_id` is taken where the assembly tells no path.
    """
    parts = path.split("/")
    while len(parts) > 1 and parts[-1] in ("Resource", "Default"):
        parts.pop()
    return short("/".join(parts) or logical_id)


def count(amount: object, instance_type: str, minimum: object = None) -> str:
    """Return e.g. `16 x ml.trn1.32xlarge` or `0-4 x p5.48xlarge`, with the sign of multiplication."""
    most = str(amount)
    least = str(minimum) if minimum is not None else most
    return f"{most if least == most else f'{least}-{most}'} {_TIMES} {instance_type}"


def wrapped(words: Iterable[str], most: int = LONGEST) -> tuple[str, ...]:
    """Return `words` with commas, in lines of at most `most` letters."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 2 <= most:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return tuple(lines)


def some(lines: Iterable[str], most: int) -> tuple[str, ...]:
    """Return at most `most` of `lines`, the last of which then says how many more there are."""
    known = list(lines)
    if len(known) <= most:
        return tuple(known)
    return (*known[: most - 1], f"and {len(known) - most + 1} more")


TITLE, TEXT, SMALL = 13.0, 12.0, 11.0
"""Sizes of letters: titles of cards, their lines, and what is said beside."""
LINE, PAD = 16, 10
INSET = 14
"""Between the edge of a box and the edge of the next in it."""
LABEL = 26
"""Height of the title of a box."""
GAP = 16
"""Between two cards, and between two boxes."""
PORT = 6
"""Between two ends of lines on one side of a card, at least."""
MARGIN = 24


def card_width(thing: Thing) -> float:
    """Return how wide the card of `thing` must be for its text."""
    title = text_width(thing.title, TITLE, bold=True)
    lines = [text_width(line, TEXT) for line in thing.lines]
    stack = text_width(thing.stack, SMALL)
    return max(title, stack, *lines, 90) + 2 * PAD + 4


def card_height(thing: Thing, ends: int) -> int:
    """Return how high the card of `thing` must be for its text, and for `ends` of lines on one side."""
    text = PAD + LINE * (1 + len(thing.lines) + bool(thing.stack)) + PAD
    return max(text, PORT * (ends + 2))


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
    "tells": ("#a03a56", 1.5, ""),
    "watched": ("#a03a56", 1.2, "2 3"),
}
"""Of each kind of line: colour, width and dashes."""


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
    for name, (colour, width, dashes) in LINES.items():
        dashed = f" stroke-dasharray: {dashes};" if dashes else ""
        rules.append(f".line.{name} {{ stroke: {colour}; stroke-width: {width:g};{dashed} }}")
        rules.append(f".arrow.{name} {{ fill: {colour}; }}")
    return "\n".join(f"  {rule}" for rule in rules)


STYLE = _style()
