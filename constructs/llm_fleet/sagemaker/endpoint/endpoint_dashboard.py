"""The dashboard of an endpoint, as CloudWatch takes it."""

from collections.abc import Sequence
from typing import Any

from llm_fleet.notifications.alarm_plan import AlarmPlan
from llm_fleet.notifications.dashboard_page import alarm_lines, alarm_widget, graph, page, text_widget
from llm_fleet.notifications.metric import MetricMath, ServiceMetric
from llm_fleet.sagemaker.endpoint.endpoint_alarm_plans import SERVER_ERRORS
from llm_fleet.sagemaker.endpoint.endpoint_metrics import MICROSECONDS, EndpointMetrics


def endpoint_dashboard(
    metrics: EndpointMetrics, plans: Sequence[AlarmPlan], *, alarm_arns: Sequence[str], log_group_name: str, region: str
) -> dict[str, Any]:
    """Return the dashboard: alarms, what callers feel, what instances do, the last errors, and what to do."""
    seconds = [
        _in_seconds(metric)
        for metric in (metrics.model_latency(), metrics.model_latency("p90"), metrics.overhead_latency())
    ]
    rows = [
        [alarm_widget(alarm_arns)],
        [
            graph("Requests, a minute", metrics.requests(), metrics.requests_per_instance()),
            graph("Errors, a minute", metrics.server_errors(), metrics.client_errors()),
            graph("Share of failed requests", metrics.server_error_share(), lines=alarm_lines(SERVER_ERRORS, plans)),
            graph("Time of an answer (s)", *seconds),
        ],
        [
            graph(
                "Processor, memory, disk (%; processor: of one core)",
                metrics.of_instances("CPUUtilization", "processor"),
                metrics.of_instances("MemoryUtilization", "memory"),
                metrics.of_instances("DiskUtilization", "disk"),
            ),
            graph(
                "GPUs (% of one; nothing on other instances)",
                metrics.of_instances("GPUUtilization", "GPU"),
                metrics.of_instances("GPUMemoryUtilization", "GPU memory"),
            ),
        ],
        [_last_errors(log_group_name, region)],
        [text_widget(plans)],
    ]
    return page(rows, region)


def _in_seconds(metric: ServiceMetric) -> MetricMath:
    return MetricMath(expression=f"latency / {MICROSECONDS}", metrics={"latency": metric}, label=metric.label)


def _last_errors(log_group_name: str, region: str) -> dict[str, Any]:
    query = (
        f"SOURCE '{log_group_name}' | fields @timestamp, @logStream, @message "
        "| filter @message like /(?i)(error|exception|out of memory)/ | sort @timestamp desc | limit 20"
    )
    return {
        "type": "log",
        "properties": {"title": "Last errors of the model", "region": region, "view": "table", "query": query},
    }


def dashboard_name(endpoint_name: str, region: str) -> str:
    """Return the dashboard's name: an account has one of a name in all its regions (API_PutDashboard)."""
    return f"{endpoint_name}-{region}"
