"""Sizes of the picture, in pixels, and what a card measures."""

from llm_fleet.catalog.glyph_widths import text_width
from llm_fleet.cli.plan.picture.thing import Thing

TITLE, TEXT, SMALL = 13.0, 12.0, 11.0
"""Sizes of letters: titles of cards, their lines, and what is said beside."""
LINE, PAD = 16, 10
INSET = 14
"""Between the edge of a box and the edge of the next in it."""
LABEL = 26
"""Height of the title of a box."""
GAP = 16
"""Between two cards, and between two boxes."""
LANE = 8
"""Between two lines beside each other."""
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
