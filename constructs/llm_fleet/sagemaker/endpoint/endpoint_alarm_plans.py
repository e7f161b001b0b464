"""Which alarms an endpoint has: what each looks at, when it rings, and what to do then. Plain data."""

from types import MappingProxyType

from llm_fleet.catalog.endpoint_operations import endpoint_alarm_facts, time_to_live_facts
from llm_fleet.notifications.alarm_plan import AlarmPlan
from llm_fleet.notifications.metric import ServiceMetric
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.sagemaker.endpoint.endpoint_alarm_thresholds import EndpointAlarmThresholds
from llm_fleet.sagemaker.endpoint.endpoint_metrics import MICROSECONDS, EndpointMetrics

SERVER_ERRORS = "ServerErrors"
LATENCY = "Latency"
IDLE = "Idle"
TIME_TO_LIVE = "TimeToLive"
ROLLBACK = (SERVER_ERRORS, LATENCY)
"""Which of them roll an update back."""
MINUTES, BAD_MINUTES = 5, 3
"""Over how many minutes those look, and how many bad ones let them ring."""


def endpoint_alarm_plans(metrics: EndpointMetrics, thresholds: EndpointAlarmThresholds) -> tuple[AlarmPlan, ...]:
    """Return every alarm on an endpoint itself."""
    facts = endpoint_alarm_facts()
    percent = thresholds.server_error_percent or facts.server_error_percent
    seconds = thresholds.model_latency_seconds or facts.model_latency_seconds
    hours = thresholds.idle_hours or facts.idle_hours
    return (
        AlarmPlan(
            id=SERVER_ERRORS,
            measure=metrics.server_error_share(),
            threshold=percent if is_unresolved(percent) else percent / 100,
            periods=MINUTES,
            ringing=BAD_MINUTES,
            missing="notBreaching",
            meaning=f"Too many requests have failed in the model{_from(percent, ' %')}. The reason is in the "
            "endpoint's log; often a model does not fit its instance's memory. During an update this rolls back to "
            "what ran before.",
        ),
        AlarmPlan(
            id=LATENCY,
            measure=metrics.model_latency(),
            threshold=seconds if is_unresolved(seconds) else seconds * MICROSECONDS,
            periods=MINUTES,
            ringing=BAD_MINUTES,
            missing="notBreaching",
            meaning=f"Answers take too long on average{_from(seconds, ' s')}; SageMaker breaks off after 60 s. Fewer "
            "tokens an answer, more instances, or a larger one. During an update this rolls back to what ran before.",
        ),
        AlarmPlan(
            id=IDLE,
            measure=metrics.requests_while_running(),
            threshold=1,
            below=True,
            periods=hours,
            ringing=hours,
            # No instance, no value: an endpoint that is gone costs nothing, and must not ring.
            missing="notBreaching",
            meaning=f"Instances have run for {hours} hours and nobody has asked: they cost as if somebody had. Delete "
            "the endpoint by destroying its stack, or give it a time to live.",
        ),
    )


def time_to_live_plan(function_name: str) -> AlarmPlan:
    """Return the alarm on the function that ends an endpoint."""
    failed = ServiceMetric(
        namespace="AWS/Lambda",
        name="Errors",
        dimensions=MappingProxyType({"FunctionName": function_name}),
        statistic="Sum",
        period_seconds=60 * time_to_live_facts().check_minutes,
        label="failed runs",
    )
    return AlarmPlan(
        id=TIME_TO_LIVE,
        measure=failed,
        threshold=1,
        periods=4,
        ringing=2,
        missing="notBreaching",
        meaning="The function that is to delete the endpoint when its time has come has failed again and again: the "
        "endpoint may cost on. The reason is in the function's log group; delete the endpoint by destroying its stack.",
    )


def _from(figure: float, unit: str) -> str:
    """Return the threshold as it stands in a description; nothing of one that only the deployment knows."""
    return "" if is_unresolved(figure) else f" ({figure:g}{unit} or more)"
