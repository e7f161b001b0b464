"""The dashboard of a service, as CloudWatch takes it.

Its form: docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

import re
from collections.abc import Sequence
from typing import Any

from llm_fleet.inference.alarm_plan import HOST_REFUSED, NEURON_ERROR, TASK_STOPPED, AlarmPlan
from llm_fleet.inference.metric import Measure, ServiceMetric
from llm_fleet.inference.service_metrics import ServiceMetrics

_COLUMNS = 24
_HEIGHT = 6
_PERIOD = 60


def dashboard_body(
    metrics: ServiceMetrics, plans: Sequence[AlarmPlan], *, alarm_arns: Sequence[str], region: str, tasks_at_most: int
) -> dict[str, Any]:
    """Return the dashboard: alarms, what clients feel, what servers do, hosts, and what to do about alarms.

    `tasks_at_most`: how many tasks there may be, drawn as a line.
    """
    neuron_health = any(plan.id == NEURON_ERROR for plan in plans)
    rows = [
        [_alarm_widget(alarm_arns)],
        _of_clients(metrics, plans),
        _of_servers(metrics, plans),
        _of_hosts(metrics, tasks_at_most=tasks_at_most, neuron_health=neuron_health),
        [_text_widget(plans)],
    ]
    return {"start": "-PT3H", "periodOverride": "inherit", "widgets": _placed(rows, region)}


def _of_clients(metrics: ServiceMetrics, plans: Sequence[AlarmPlan]) -> list[dict[str, Any]]:
    told = [measure for measure in (metrics.failed(), metrics.rejected()) if measure]
    return [
        _graph(
            "Time to first token, average (s)", metrics.time_to_first_token(), lines=_lines("TimeToFirstToken", plans)
        ),
        _graph("Time per token, average (s)", metrics.time_per_token()),
        _graph("Requests and finished answers, a minute", metrics.requests(), metrics.answers()),
        _graph(
            "Errors, a minute",
            metrics.server_errors(),
            metrics.load_balancer_errors(),
            metrics.client_errors(),
            *told,
        ),
    ]


def _of_servers(metrics: ServiceMetrics, plans: Sequence[AlarmPlan]) -> list[dict[str, Any]]:
    batch = [{"label": "batch", "value": metrics.batch_size}]
    return [
        _graph("Requests waiting in a task", metrics.waiting(), lines=_lines("Queue", plans)),
        _graph("Requests in a task: what scaling follows", metrics.requests_in_task(), metrics.running(), lines=batch),
        _graph("Tokens of finished answers, a minute", metrics.tokens()),
        _graph("Whole answer, average (s)", metrics.answer_time()),
    ]


def _of_hosts(metrics: ServiceMetrics, *, tasks_at_most: int, neuron_health: bool) -> list[dict[str, Any]]:
    most = [{"label": "tasks at most", "value": tasks_at_most}]
    refused = metrics.of_log(HOST_REFUSED, label="hosts refused")
    stopped = metrics.of_log(TASK_STOPPED, label="tasks stopped by themselves")
    widgets = [
        _graph("Targets", metrics.healthy_hosts(), metrics.unhealthy_hosts(), lines=most),
        _graph("Hosts refused, tasks stopped", refused, stopped),
        _graph("Collector reached a server", metrics.scraped()),
    ]
    if not neuron_health:
        return widgets
    found = metrics.of_log(NEURON_ERROR, label="found in the kernel's log")
    return [*widgets, _graph("Neuron hardware errors", found)]


def _lines(alarm: str, plans: Sequence[AlarmPlan]) -> list[dict[str, Any]]:
    return [{"label": "alarm", "value": plan.threshold} for plan in plans if plan.id == alarm]


def _graph(title: str, *measures: Measure, lines: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
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


def _alarm_widget(alarm_arns: Sequence[str]) -> dict[str, Any]:
    return {"type": "alarm", "height": 3, "properties": {"title": "Alarms", "alarms": list(alarm_arns)}}


def _text_widget(plans: Sequence[AlarmPlan]) -> dict[str, Any]:
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
