"""The dashboard of a service, as CloudWatch takes it.

Its form: docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from collections.abc import Sequence
from typing import Any

from llm_fleet.inference.alarm_plan import HOST_REFUSED, NEURON_ERROR, TASK_STOPPED
from llm_fleet.inference.service_metrics import ServiceMetrics
from llm_fleet.notifications.dashboard_page import alarm_lines, alarm_widget, graph, page, text_widget
from llm_fleet.notifications.metric_alarms import AlarmPlan


def dashboard_body(
    metrics: ServiceMetrics, plans: Sequence[AlarmPlan], *, alarm_arns: Sequence[str], region: str, tasks_at_most: int
) -> dict[str, Any]:
    """Return the dashboard: alarms, what clients feel, what servers do, hosts, and what to do about alarms.

    `tasks_at_most`: how many tasks there may be, drawn as a line.
    """
    neuron_health = any(plan.id == NEURON_ERROR for plan in plans)
    rows = [
        [alarm_widget(alarm_arns)],
        _of_clients(metrics, plans),
        _of_servers(metrics, plans),
        _of_hosts(metrics, tasks_at_most=tasks_at_most, neuron_health=neuron_health),
        [text_widget(plans)],
    ]
    return page(rows, region)


def _of_clients(metrics: ServiceMetrics, plans: Sequence[AlarmPlan]) -> list[dict[str, Any]]:
    told = [measure for measure in (metrics.failed(), metrics.rejected()) if measure]
    return [
        graph(
            "Time to first token, average (s)",
            metrics.time_to_first_token(),
            lines=alarm_lines("TimeToFirstToken", plans),
        ),
        graph("Time per token, average (s)", metrics.time_per_token()),
        graph("Requests and finished answers, a minute", metrics.requests(), metrics.answers()),
        graph(
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
        graph("Requests waiting in a task", metrics.waiting(), lines=alarm_lines("Queue", plans)),
        graph("Requests in a task: what scaling follows", metrics.requests_in_task(), metrics.running(), lines=batch),
        graph("Tokens of finished answers, a minute", metrics.tokens()),
        graph("Whole answer, average (s)", metrics.answer_time()),
    ]


def _of_hosts(metrics: ServiceMetrics, *, tasks_at_most: int, neuron_health: bool) -> list[dict[str, Any]]:
    most = [{"label": "tasks at most", "value": tasks_at_most}]
    refused = metrics.of_log(HOST_REFUSED, label="hosts refused")
    stopped = metrics.of_log(TASK_STOPPED, label="tasks stopped by themselves")
    widgets = [
        graph("Targets", metrics.healthy_hosts(), metrics.unhealthy_hosts(), lines=most),
        graph("Hosts refused, tasks stopped", refused, stopped),
        graph("Collector reached a server", metrics.scraped()),
    ]
    if not neuron_health:
        return widgets
    found = metrics.of_log(NEURON_ERROR, label="found in the kernel's log")
    return [*widgets, graph("Neuron hardware errors", found)]
