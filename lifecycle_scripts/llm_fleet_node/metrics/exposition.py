"""Formats a sample in Prometheus's text format, for users who scrape the node themselves."""

from __future__ import annotations

from llm_fleet_node.metrics.names import prometheus_name
from llm_fleet_node.metrics.sample import Sample


def exposition(sample: Sample) -> str:
    """Return the text of the last values, for the textfile collector of node_exporter."""
    lines: list[str] = []
    for key, value in sorted(sample.numbers.items()):
        name = prometheus_name(key)
        lines += [f"# TYPE {name} gauge", f"{name} {value:g}" if abs(value) < 1e6 else f"{name} {value!r}"]
    return "\n".join(lines) + "\n"
