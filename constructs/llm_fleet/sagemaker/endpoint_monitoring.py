"""Monitoring of an endpoint: metrics, alarms (two of them roll back updates), and a dashboard."""

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
        """Return the number of requests."""
        return self._of_requests("Invocations", "Sum", "requests")

    def requests_per_instance(self) -> ServiceMetric:
        """Return the number of requests per instance."""
        return self._of_requests("InvocationsPerInstance", "Sum", "requests per instance")

    def server_errors(self) -> ServiceMetric:
        """Return the number of requests that failed in the model (5xx)."""
        return self._of_requests("Invocation5XXErrors", "Sum", "5xx")

    def client_errors(self) -> ServiceMetric:
        """Return the number of requests that the model rejected (4xx)."""
        return self._of_requests("Invocation4XXErrors", "Sum", "4xx")

    def server_error_share(self) -> ServiceMetric:
        """Return the share of requests that failed in the model, 0 to 1: each request is a data point of 0 or 1."""
        return self._of_requests("Invocation5XXErrors", "Average", "share of 5xx")

    def model_latency(self, statistic: str = "Average") -> ServiceMetric:
        """Return the response time of the model in microseconds."""
        return self._of_requests("ModelLatency", statistic, f"model, {statistic}")

    def overhead_latency(self) -> ServiceMetric:
        """Return SageMaker's overhead in microseconds, in addition to the model latency."""
        return self._of_requests("OverheadLatency", "Average", "overhead, Average")

    def of_instances(self, name: str, label: str) -> ServiceMetric:
        """Return a metric of the instances, e.g. `CPUUtilization`, in percent of one core or one accelerator."""
        return self._metric(endpoint_alarm_facts().instances_namespace, name, "Average", label)

    def requests_while_running(self) -> MetricMath:
        """Return the requests of each hour with running instances: 0 without requests, no value without instances."""
        running = self._metric(endpoint_alarm_facts().instances_namespace, "CPUUtilization", "SampleCount", "")
        metrics = {"requests": self.requests(), "running": running}
        return MetricMath(
            expression="FILL(requests, 0) + 0 * running",
            metrics=MappingProxyType(metrics),
            label="requests while instances run",
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
"""The alarms that roll back an update."""
MINUTES, BAD_MINUTES = 5, 3
"""Evaluation periods in minutes, and datapoints to alarm."""


def endpoint_alarm_plans(metrics: EndpointMetrics, thresholds: EndpointAlarms) -> tuple[AlarmPlan, ...]:
    """Return all alarms on the endpoint itself."""
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
            meaning=f"Too many requests have failed in the model{threshold_words(percent, ' %')}. Look for the reason "
            "in the endpoint's log; often a model does not fit into the memory of its instance. During an update, this "
            "alarm rolls back to the previous configuration.",
        ),
        AlarmPlan(
            id=LATENCY,
            measure=metrics.model_latency(),
            threshold=seconds if is_unresolved(seconds) else seconds * MICROSECONDS,
            periods=MINUTES,
            ringing=BAD_MINUTES,
            meaning=f"The average response time is too long{threshold_words(seconds, ' s')}; SageMaker times out after "
            "60 s. Reduce the output tokens, add instances, or use a larger instance type. During an update, this "
            "alarm rolls back to the previous configuration.",
        ),
        AlarmPlan(
            id=IDLE,
            measure=metrics.requests_while_running(),
            threshold=1,
            below=True,
            periods=hours,
            # No value without instances: a deleted endpoint costs nothing and must not cause an alarm.
            missing="notBreaching",
            meaning=f"Instances have run for {hours} hours without any request, and they are billed. Delete "
            "the endpoint by destroying its stack, or give it a time to live.",
        ),
    )


def time_to_live_plan(function_name: str) -> AlarmPlan:
    """Return the alarm on the function that deletes an endpoint after its time to live."""
    period = 60 * time_to_live_facts().check_minutes
    failed = function_metric(function_name, "Errors", label="failed runs", period_seconds=period)
    return AlarmPlan(
        id=TIME_TO_LIVE,
        measure=failed,
        threshold=1,
        periods=4,
        ringing=2,
        meaning="The function that deletes the endpoint after its time to live has failed repeatedly, so the endpoint "
        "may still be billed. Look for the reason in its log group, or destroy the stack to delete the endpoint.",
    )


def endpoint_dashboard(
    metrics: EndpointMetrics, plans: Sequence[AlarmPlan], *, alarm_arns: Sequence[str], log_group_name: str, region: str
) -> list[list[dict[str, Any]]]:
    """Return the rows of the dashboard: alarms, requests, instances, last errors, and what to do."""
    seconds = [
        _in_seconds(metric)
        for metric in (metrics.model_latency(), metrics.model_latency("p90"), metrics.overhead_latency())
    ]
    return [
        [alarm_widget(alarm_arns)],
        [
            graph("Requests per minute", metrics.requests(), metrics.requests_per_instance()),
            graph("Errors per minute", metrics.server_errors(), metrics.client_errors()),
            graph("Share of failed requests", metrics.server_error_share(), lines=alarm_lines(SERVER_ERRORS, plans)),
            graph("Response time (s)", *seconds),
        ],
        [
            graph(
                "CPU, memory, disk (%; CPU: of one core)",
                metrics.of_instances("CPUUtilization", "processor"),
                metrics.of_instances("MemoryUtilization", "memory"),
                metrics.of_instances("DiskUtilization", "disk"),
            ),
            graph(
                "GPUs (% of one GPU; no data on instances without GPUs)",
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
    """Alarms and dashboard of an endpoint. They need only its name, and exist before it to monitor its updates."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        plan: EndpointPlan,
        log_group: logs.CfnLogGroup,
        topic: sns.ITopic | None,
    ) -> None:
        """`log_group`: the log group of the endpoint. `topic`: receives the alarms."""
        super().__init__(scope, id)
        self._spec, endpoint_name = plan.spec, plan.name
        # SageMaker does not check alarms during updates of some instance families.
        self._guarded = has_guardrails(plan.spec.instance_type)
        self.metrics = EndpointMetrics(endpoint_name=endpoint_name, variant_name=endpoint_settings().variant)
        """Its metrics in CloudWatch."""
        self.plans = endpoint_alarm_plans(self.metrics, plan.spec.alarms)
        """Metric and meaning of each alarm."""
        made = MetricAlarms(self, "Alarms", plans=self.plans, name_prefix=endpoint_name, topic=topic)
        self.alarms = made.alarms
        """The L1 constructs by plan id: `ServerErrors`, `Latency`, `Idle`."""
        self.rollback_alarm_names = tuple(f"{endpoint_name}-{id}" for id in ROLLBACK) if self._guarded else ()
        """Names of the alarms that roll back an update."""
        self.dashboard = self._make_dashboard(endpoint_name, log_group)
        """The L1 construct of the dashboard."""

    def deployment_config(self) -> sagemaker.CfnEndpoint.DeploymentConfigProperty | None:
        """Return the deployment configuration; `None` for instances that SageMaker always updates all-at-once."""
        if not self._guarded:
            return None
        return render_rollout(self._spec.rollout, self.rollback_alarm_names)

    def update_arguments(self) -> dict[str, Any]:
        """Return arguments with which an update keeps the number of instances that scaling set."""
        if self._spec.scaling is None:
            return {}
        changed = sagemaker.CfnEndpoint.VariantPropertyProperty(variant_property_type=_RETAINED_BUT)
        return {"retain_all_variant_properties": True, "exclude_retained_variant_properties": [changed]}

    def before(self, endpoint: sagemaker.CfnEndpoint) -> None:
        """Make `endpoint` depend on the alarms that roll it back."""
        for id in ROLLBACK if self._guarded else ():
            endpoint.add_resource_dependency(self.alarms[id])

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Permissions of the endpoint's role that rollbacks require (SageMaker's guide)."""
        if not self._guarded:
            return ()
        # CloudWatch returns composite alarms only with DescribeAlarms on all resources, and a user's own alarm may be
        # composite.
        others = bool(len(self._spec.rollout.alarm_names))
        return (
            Permission(
                sid="RollbackAlarms",
                actions=("cloudwatch:DescribeAlarms",),
                resources=("*",) if others else tuple(self._alarm_arn(name) for name in self.rollback_alarm_names),
                reason="SageMaker checks the alarms that roll back an update"
                + ("; CloudWatch returns composite alarms only with permission for all alarms" if others else ""),
            ),
        )

    def _alarm_arn(self, name: str) -> str:
        return cdk.Stack.of(self).format_arn(
            service="cloudwatch", resource="alarm", resource_name=name, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
        )

    def _make_dashboard(self, endpoint_name: str, log_group: logs.CfnLogGroup) -> cloudwatch.CfnDashboard:
        arns = [alarm.attr_arn for alarm in self.alarms.values()]
        if self._spec.time_to_live_seconds:  # created after the endpoint, so it is referred to by name
            arns.append(self._alarm_arn(f"{endpoint_name}-{TIME_TO_LIVE}"))
        region = cdk.Stack.of(self).region
        rows = endpoint_dashboard(
            self.metrics, self.plans, alarm_arns=arns, log_group_name=log_group.ref, region=region
        )
        return render_dashboard(self, "Dashboard", endpoint_name, rows)
