"""Colours of the picture. It brings its own white ground, so that it looks the same on a dark page."""

from llm_fleet.cli.plan.picture.measures import SMALL, TEXT, TITLE

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
