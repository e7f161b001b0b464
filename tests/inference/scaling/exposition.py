"""A scraped page and a collector's configuration: which CloudWatch metrics come of them, by the documents' rules.

Prometheus matches a relabelling's regex against the whole name; the EMF exporter takes a selector where it is found in
the metric's name, and writes a set of dimensions only for a series that has every label of it.
"""

import re
from typing import Any

from llm_fleet.notifications.metric_alarms import Measure, ServiceMetric

Metric = tuple[str, frozenset[tuple[str, str]]]
"""Name and dimensions."""

_LINE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(\{(?P<labels>[^}]*)\})? (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_SUFFIX = re.compile(r"_(bucket|sum|count)$")


def exported(configuration: dict[str, Any], page: str) -> set[Metric]:
    """Return the CloudWatch metrics that a collector with `configuration` makes of `page`."""
    (scrape,) = configuration["receivers"]["prometheus"]["config"]["scrape_configs"]
    (static,) = scrape["static_configs"]
    (relabelling,) = scrape["metric_relabel_configs"]
    assert relabelling["action"] == "keep"
    assert relabelling["source_labels"] == ["__name__"]
    types = dict(re.findall(r"# TYPE (\S+) (\S+)", page))
    found: set[Metric] = set()
    for name, labels in [*_series(page), ("up", {})]:
        if name != "up" and not re.fullmatch(relabelling["regex"], name):
            continue
        family = _SUFFIX.sub("", name) if types.get(_SUFFIX.sub("", name)) == "histogram" else name
        for declaration in configuration["exporters"]["awsemf"]["metric_declarations"]:
            found |= _declared(declaration, family, {**labels, **static["labels"]})
    return found


def of_measure(measure: Measure) -> set[Metric]:
    """Return the metrics that `measure` is made of."""
    parts = [measure] if isinstance(measure, ServiceMetric) else list(measure.metrics.values())
    return {(part.name, frozenset(part.dimensions.items())) for part in parts}


def _series(page: str) -> list[tuple[str, dict[str, str]]]:
    lines = [found for line in page.splitlines() if not line.startswith("#") and (found := _LINE.fullmatch(line))]
    return [(line["name"], dict(_LABEL.findall(line["labels"] or ""))) for line in lines]


def _declared(declaration: dict[str, Any], name: str, labels: dict[str, str]) -> set[Metric]:
    if not any(re.search(selector, name) for selector in declaration["metric_name_selectors"]):
        return set()
    return {
        (name, frozenset((dimension, labels[dimension]) for dimension in dimensions))
        for dimensions in declaration["dimensions"]
        if all(dimension in labels for dimension in dimensions)
    }
