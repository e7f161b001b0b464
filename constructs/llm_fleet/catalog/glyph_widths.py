"""How wide text is at most, where nothing can measure it: in a picture that a browser draws later."""

from functools import cache

from llm_fleet.catalog.data_file import load


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return how wide `text` is in letters of `size`, both in pixels, in DejaVu Sans.

    That font and Verdana are the widest of those that a browser takes for `sans-serif`: text that fits by this
    measure fits in the others as well. A letter that the table lacks counts as wide as the widest in it.
    """
    widths, widest = _widths("bold" if bold else "regular")
    return sum(widths.get(letter, widest) for letter in text) * size / 1000


@cache
def _widths(weight: str) -> tuple[dict[str, int], int]:
    widths = load("glyph_widths")[weight]
    return widths, max(widths.values())
