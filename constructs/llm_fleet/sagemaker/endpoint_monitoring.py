"""How an endpoint is seen: metrics, alarms, which also roll updates back, and a dashboard."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.catalog.endpoint import endpoint_alarm_facts, endpoint_settings, time_to_live_facts
from llm_fleet.iam.statements import Permission
from llm_fleet.notifications.metric_alarms import (
    AlarmPlan,
    MetricAlarms,
    MetricMath,
    ServiceMetric,
    alarm_lines,
    alarm_widget,
    function_metric,
    graph,
    render_dashboard,
    text_widget,
    threshold_words,
)
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.rules.sagemaker.endpoint_operations import has_guardrails
from llm_fleet.sagemaker.render_endpoint import EndpointPlan, render_rollout
from llm_fleet.spec.endpoint_operations import EndpointAlarms

MICROSECONDS = 1_000_000
_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointMetrics:
    """The metrics of one variant of an endpoint."""

    endpoint_name: str
    variant_name: str

    def requests(self) -> ServiceMetric:
        """Return requests."""
        return self._of_requests("Invocations", "Sum", "requests")

    def requests_per_instance(self) -> ServiceMetric:
        """Return requests of each instance."""
        return self._of_requests("InvocationsPerInstance", "Sum", "requests of an instance")

    def server_errors(self) -> ServiceMetric:
        """Return requests that failed in the model."""
        return self._of_requests("Invocation5XXErrors", "Sum", "5xx")

    def client_errors(self) -> ServiceMetric:
        """Return requests that the model refused."""
        return self._of_requests("Invocation4XXErrors", "Sum", "4xx")

    def server_error_share(self) -> ServiceMetric:
        """Return the share of requests that failed in the model, 0 to 1: each has a point of 0 or 1."""
        return self._of_requests("Invocation5XXErrors", "Average", "share of 5xx")

    def model_latency(self, statistic: str = "Average") -> ServiceMetric:
        """Return how long the model takes for an answer, in microseconds."""
        return self._of_requests("ModelLatency", statistic, f"model, {statistic}")

    def overhead_latency(self) -> ServiceMetric:
        """Return what SageMaker adds to it, in microseconds."""
        return self._of_requests("OverheadLatency", "Average", "overhead, Average")

    def of_instances(self, name: str, label: str) -> ServiceMetric:
        """Return a metric of the instances, e.g. `CPUUtilization`, in percent of one core or one accelerator."""
        return self._metric(endpoint_alarm_facts().instances_namespace, name, "Average", label)

    def requests_while_running(self) -> MetricMath:
        """Return the requests of each hour in which an instance ran: 0 where none came, no value where none ran."""
        running = self._metric(endpoint_alarm_facts().instances_namespace, "CPUUtilization", "SampleCount", "")
        metrics = {"requests": self.requests(), "running": running}
        return MetricMath(
            expression="FILL(requests, 0) + 0 * running",
            metrics=MappingProxyType(metrics),
            label="requests while instances ran",
        ).over(seconds=_HOUR)

    def _of_requests(self, name: str, statistic: str, label: str) -> ServiceMetric:
        return self._metric(endpoint_alarm_facts().namespace, name, statistic, label)

    def _metric(self, namespace: str, name: str, statistic: str, label: str) -> ServiceMetric:
        return ServiceMetric(
            namespace=namespace,
            name=name,
            dimensions=MappingProxyType({"EndpointName": self.endpoint_name, "VariantName": self.variant_name}),
            statistic=statistic,
            label=label,
        )


SERVER_ERRORS = "ServerErrors"
LATENCY = "Latency"
IDLE = "Idle"
TIME_TO_LIVE = "TimeToLive"
ROLLBACK = (SERVER_ERRORS, LATENCY)
"""Which of them roll an update back."""
MINUTES, BAD_MINUTES = 5, 3
"""Over how many minutes those look, and how many bad ones let them ring."""


def endpoint_alarm_plans(metrics: EndpointMetrics, thresholds: EndpointAlarms) -> tuple[AlarmPlan, ...]:
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
            meaning=f"Too many requests have failed in the model{threshold_words(percent, ' %')}. The reason is in the "
            "endpoint's log; often a model does not fit its instance's memory. During an update this rolls back to "
            "what ran before.",
        ),
        AlarmPlan(
            id=LATENCY,
            measure=metrics.model_latency(),
            threshold=seconds if is_unresolved(seconds) else seconds * MICROSECONDS,
            periods=MINUTES,
            ringing=BAD_MINUTES,
            meaning=f"Answers take too long on average{threshold_words(seconds, ' s')}; SageMaker breaks off after "
            "60 s. Fewer tokens an answer, more instances, or a larger one. During an update this rolls back to what "
            "ran before.",
        ),
        AlarmPlan(
            id=IDLE,
            measure=metrics.requests_while_running(),
            threshold=1,
            below=True,
            periods=hours,
            # No instance, no value: an endpoint that is gone costs nothing, and must not ring.
            missing="notBreaching",
            meaning=f"Instances have run for {hours} hours and nobody has asked: they cost as if somebody had. Delete "
            "the endpoint by destroying its stack, or give it a time to live.",
        ),
    )


def time_to_live_plan(function_name: str) -> AlarmPlan:
    """Return the alarm on the function that ends an endpoint."""
    period = 60 * time_to_live_facts().check_minutes
    failed = function_metric(function_name, "Errors", label="failed runs", period_seconds=period)
    return AlarmPlan(
        id=TIME_TO_LIVE,
        measure=failed,
        threshold=1,
        periods=4,
        ringing=2,
        meaning="The function that is to delete the endpoint when its time has come has failed again and again: the "
        "endpoint may cost on. The reason is in the function's log group; delete the endpoint by destroying its stack.",
    )


def endpoint_dashboard(
    metrics: EndpointMetrics, plans: Sequence[AlarmPlan], *, alarm_arns: Sequence[str], log_group_name: str, region: str
) -> list[list[dict[str, Any]]]:
    """Return the rows of the dashboard: alarms, what callers feel, what instances do, last errors, and what to do."""
    seconds = [
        _in_seconds(metric)
        for metric in (metrics.model_latency(), metrics.model_latency("p90"), metrics.overhead_latency())
    ]
    return [
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


_RETAINED_BUT = "DataCaptureConfig"


class EndpointMonitoring(Construct):
    """Alarms and dashboard of an endpoint, known by its name alone: they are there before it, to watch its updates."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        plan: EndpointPlan,
        log_group: logs.CfnLogGroup,
        topic: sns.ITopic | None,
    ) -> None:
        """Make them. `log_group`: where it writes. `topic`: what alarms go to."""
        super().__init__(scope, id)
        self._spec, endpoint_name = plan.spec, plan.name
        # Some instances cannot be updated under the eyes of alarms.
        self._guarded = has_guardrails(plan.spec.instance_type)
        self.metrics = EndpointMetrics(endpoint_name=endpoint_name, variant_name=endpoint_settings().variant)
        """What SageMaker publishes of it."""
        self.plans = endpoint_alarm_plans(self.metrics, plan.spec.alarms)
        """What each alarm looks at and means."""
        made = MetricAlarms(self, "Alarms", plans=self.plans, name_prefix=endpoint_name, topic=topic)
        self.alarms = made.alarms
        """The L1s by the ids of their plans: `ServerErrors`, `Latency`, `Idle`."""
        self.rollback_alarm_names = tuple(f"{endpoint_name}-{id}" for id in ROLLBACK) if self._guarded else ()
        """Names of those that roll an update back."""
        self.dashboard = self._make_dashboard(endpoint_name, log_group)
        """The L1 of the dashboard."""

    def deployment_config(self) -> sagemaker.CfnEndpoint.DeploymentConfigProperty | None:
        """Return how updates reach the endpoint; `None` for instances that SageMaker updates in one way only."""
        if not self._guarded:
            return None
        return render_rollout(self._spec.rollout, self.rollback_alarm_names)

    def update_arguments(self) -> dict[str, Any]:
        """Return what keeps an update of a scaling endpoint from putting its number of instances back."""
        if self._spec.scaling is None:
            return {}
        changed = sagemaker.CfnEndpoint.VariantPropertyProperty(variant_property_type=_RETAINED_BUT)
        return {"retain_all_variant_properties": True, "exclude_retained_variant_properties": [changed]}

    def before(self, endpoint: sagemaker.CfnEndpoint) -> None:
        """Let `endpoint` come after the alarms that roll it back, and go before them."""
        for id in ROLLBACK if self._guarded else ():
            endpoint.add_resource_dependency(self.alarms[id])

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What the endpoint's role must be allowed, so that updates are rolled back (SageMaker's guide says so)."""
        if not self._guarded:
            return ()
        # Of composite alarms CloudWatch tells nothing to who may not look at all (DescribeAlarms), and of an alarm of
        # the user's nobody knows here whether it is one.
        others = bool(len(self._spec.rollout.alarm_names))
        return (
            Permission(
                sid="RollbackAlarms",
                actions=("cloudwatch:DescribeAlarms",),
                resources=("*",) if others else tuple(self._alarm_arn(name) for name in self.rollback_alarm_names),
                reason="SageMaker looks at the alarms that roll an update back"
                + ("; CloudWatch shows composite ones to who may look at all, only" if others else ""),
            ),
        )

    def _alarm_arn(self, name: str) -> str:
        return cdk.Stack.of(self).format_arn(
            service="cloudwatch", resource="alarm", resource_name=name, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
        )

    def _make_dashboard(self, endpoint_name: str, log_group: logs.CfnLogGroup) -> cloudwatch.CfnDashboard:
        arns = [alarm.attr_arn for alarm in self.alarms.values()]
        if self._spec.time_to_live_seconds:  # made after the endpoint, so told by its name
            arns.append(self._alarm_arn(f"{endpoint_name}-{TIME_TO_LIVE}"))
        region = cdk.Stack.of(self).region
        rows = endpoint_dashboard(
            self.metrics, self.plans, alarm_arns=arns, log_group_name=log_group.ref, region=region
        )
        return render_dashboard(self, "Dashboard", endpoint_name, rows)
