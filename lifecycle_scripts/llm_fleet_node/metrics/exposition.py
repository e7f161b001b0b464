"""Writes a sample as Prometheus reads it, for whoever scrapes the node by himself."""

from __future__ import annotations

from llm_fleet_node.metrics.names import prometheus_name
from llm_fleet_node.metrics.sample import Sample


def exposition(sample: Sample) -> str:
    """Return the text of the last values: node_exporter's textfile collector serves it where it is told the folder."""
    lines: list[str] = []
    for key, value in sorted(sample.numbers.items()):
        name = prometheus_name(key)
        lines += [f"# TYPE {name} gauge", f"{name} {value:g}" if abs(value) < 1e6 else f"{name} {value!r}"]
    return "\n".join(lines) + "\n"
