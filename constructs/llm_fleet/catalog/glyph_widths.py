"""Maximum text widths for SVG files, whose fonts only the browser has."""

from functools import cache

from llm_fleet.catalog.data_file import load


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of `text` in DejaVu Sans at font size `size`, both in pixels.

    DejaVu Sans and Verdana are the widest fonts that browsers use for `sans-serif`, so text that fits by this measure
    also fits in other fonts. A character that is not in the table has the width of the widest one.
    """
    widths, widest = _widths("bold" if bold else "regular")
    return sum(widths.get(letter, widest) for letter in text) * size / 1000


@cache
def _widths(weight: str) -> tuple[dict[str, int], int]:
    widths = load("glyph_widths")[weight]
    return widths, max(widths.values())
