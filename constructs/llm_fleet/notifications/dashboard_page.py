"""A page of CloudWatch's dashboards: graphs of measures, alarms, and what to do about them.

Its form: docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

import re
from collections.abc import Sequence
from typing import Any

from llm_fleet.notifications.metric_alarms import AlarmPlan, Measure, ServiceMetric

_COLUMNS = 24
_HEIGHT = 6
_PERIOD = 60


def page(rows: Sequence[Sequence[dict[str, Any]]], region: str) -> dict[str, Any]:
    """Return the body of a dashboard over three hours; the widgets of a row share its width."""
    return {"start": "-PT3H", "periodOverride": "inherit", "widgets": _placed(rows, region)}


def alarm_lines(alarm: str, plans: Sequence[AlarmPlan]) -> list[dict[str, Any]]:
    """Return the threshold of the plan `alarm` as a line for a graph."""
    return [{"label": "alarm", "value": plan.threshold} for plan in plans if plan.id == alarm]


def graph(title: str, *measures: Measure, lines: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return a graph of `measures`, with horizontal `lines`."""
    properties: dict[str, Any] = {
        "title": title,
        "view": "timeSeries",
        "stacked": False,
        "period": _PERIOD,
        "metrics": [row for n, measure in enumerate(measures) for row in _rows(measure, f"m{n}_")],
        "yAxis": {"left": {"min": 0, "showUnits": False}},
    }
    if lines:
        properties["annotations"] = {"horizontal": list(lines)}
    return {"type": "metric", "properties": properties}


def _rows(measure: Measure, prefix: str) -> list[list[Any]]:
    """Return the rows of `measure` in a graph, its ids with `prefix`, since all rows of a graph share their ids."""
    if isinstance(measure, ServiceMetric):
        return [_row(measure, {"label": measure.label})]
    expression = measure.expression
    for id in measure.metrics:
        expression = re.sub(rf"\b{id}\b", f"{prefix}{id}", expression)
    hidden = [_row(metric, {"id": f"{prefix}{id}", "visible": False}) for id, metric in measure.metrics.items()]
    return [*hidden, [{"expression": expression, "label": measure.label, "id": f"{prefix}result"}]]


def _row(metric: ServiceMetric, options: dict[str, Any]) -> list[Any]:
    dimensions = [part for pair in metric.dimensions.items() for part in pair]
    return [metric.namespace, metric.name, *dimensions, {"stat": metric.statistic, **options}]


def alarm_widget(alarm_arns: Sequence[str]) -> dict[str, Any]:
    """Return how alarms stand."""
    return {"type": "alarm", "height": 3, "properties": {"title": "Alarms", "alarms": list(alarm_arns)}}


def text_widget(plans: Sequence[AlarmPlan]) -> dict[str, Any]:
    """Return what to do about each alarm."""
    rows = "\n".join(f"| {plan.id} | {plan.meaning} |" for plan in plans)
    text = f"## What to do\n\n| alarm | meaning and remedy |\n|---|---|\n{rows}"
    return {"type": "text", "height": 2 + len(plans), "properties": {"markdown": text}}


def _placed(rows: Sequence[Sequence[dict[str, Any]]], region: str) -> list[dict[str, Any]]:
    """Give each widget its place: a row's widgets share the width."""
    placed: list[dict[str, Any]] = []
    y = 0
    for row in rows:
        width = _COLUMNS // len(row)
        height = max(widget.get("height", _HEIGHT) for widget in row)
        for column, widget in enumerate(row):
            if widget["type"] == "metric":
                widget["properties"]["region"] = region
            placed.append({**widget, "x": column * width, "y": y, "width": width, "height": height})
        y += height
    return placed
