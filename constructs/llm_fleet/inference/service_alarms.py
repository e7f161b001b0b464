"""The alarms of an inference service."""

from collections.abc import Mapping
from types import MappingProxyType

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.inference.alarm_plan import LOG_COUNTS, AlarmPlan, LogCount, alarm_plans, neuron_error_count
from llm_fleet.inference.alarm_thresholds import AlarmThresholds
from llm_fleet.inference.metric import Measure, ServiceMetric
from llm_fleet.inference.service_metrics import ServiceMetrics

_Alarm = cloudwatch.CfnAlarm
_RESULT = "result"
_DESCRIPTION_LENGTH = 1024
"""CloudWatch's limit (API_PutMetricAlarm)."""


class ServiceAlarms(Construct):
    """Alarms on queue, time to first token, errors, hosts, tasks, collector and Neuron health.

    Each has a description that says what to do. They notify `topic` when they ring and when they are quiet again; with
    no topic they are to be seen in CloudWatch and on the dashboard only.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        metrics: ServiceMetrics,
        log_group: logs.CfnLogGroup,
        thresholds: AlarmThresholds | None = None,
        topic: sns.ITopic | None = None,
        neuron_health: bool = False,
    ) -> None:
        """Make the alarms of the service whose metrics are `metrics`.

        - `log_group`: where hosts, ECS's events and the Neuron problem detector write for it.
        - `topic`: who is told. Default nobody: a topic without readers and its key would cost, and be believed in. An
          encrypted one needs a key that CloudWatch may use, which `alias/aws/sns` is not: `AlarmTopic` makes one.
        - `neuron_health`: whether there is a Neuron problem detector, so that its errors ring.
        """
        super().__init__(scope, id)
        self.plans: tuple[AlarmPlan, ...] = alarm_plans(
            metrics, thresholds or AlarmThresholds(), neuron_health=neuron_health
        )
        """What each alarm looks at and means."""
        counts = [*LOG_COUNTS, *([neuron_error_count()] if neuron_health else [])]
        self.filters: tuple[logs.CfnMetricFilter, ...] = tuple(
            _filter(self, count, metrics, log_group) for count in counts
        )
        """What is counted of the log group."""
        self._topic_arn = topic.topic_arn if topic else None
        self.alarms: Mapping[str, cloudwatch.CfnAlarm] = MappingProxyType(
            {plan.id: self._alarm(plan, metrics.service_name) for plan in self.plans}
        )
        """The L1s by the ids of their plans, e.g. `Queue`."""
        if topic is None:
            acknowledge(
                self,
                "Nobody was told to be called; `alarm_topic` takes an SNS topic.",
                "NIST.800.53.R5-CloudWatchAlarmAction",
            )

    def _alarm(self, plan: AlarmPlan, service_name: str) -> cloudwatch.CfnAlarm:
        actions = [self._topic_arn] if self._topic_arn else None
        alarm = _Alarm(
            self,
            plan.id,
            alarm_name=f"{service_name}-{plan.id}",
            alarm_description=plan.meaning[:_DESCRIPTION_LENGTH],
            comparison_operator="LessThanThreshold" if plan.below else "GreaterThanOrEqualToThreshold",
            threshold=plan.threshold,
            evaluation_periods=plan.periods,
            datapoints_to_alarm=plan.ringing,
            treat_missing_data=plan.missing,
            metrics=_queries(plan.measure),
            alarm_actions=actions,
            ok_actions=actions,
        )
        return alarm


def _filter(
    scope: Construct, count: LogCount, metrics: ServiceMetrics, log_group: logs.CfnLogGroup
) -> logs.CfnMetricFilter:
    metric = metrics.of_log(count.name, label="")
    return logs.CfnMetricFilter(
        scope,
        f"{count.name}Filter",
        log_group_name=log_group.ref,
        filter_pattern=count.pattern,
        metric_transformations=[
            logs.CfnMetricFilter.MetricTransformationProperty(
                metric_namespace=metric.namespace, metric_name=metric.name, metric_value="1"
            )
        ],
    )


def _queries(measure: Measure) -> list[cloudwatch.CfnAlarm.MetricDataQueryProperty]:
    """Return `measure` as an alarm takes it, with one result."""
    if isinstance(measure, ServiceMetric):
        return [_query(_RESULT, measure, is_result=True)]
    parts = [_query(id, metric, is_result=False) for id, metric in measure.metrics.items()]
    total = _Alarm.MetricDataQueryProperty(
        id=_RESULT, expression=measure.expression, label=measure.label, return_data=True
    )
    return [*parts, total]


def _query(id: str, metric: ServiceMetric, *, is_result: bool) -> cloudwatch.CfnAlarm.MetricDataQueryProperty:
    return _Alarm.MetricDataQueryProperty(
        id=id,
        label=metric.label,
        return_data=is_result,
        metric_stat=_Alarm.MetricStatProperty(
            stat=metric.statistic,
            period=metric.period_seconds,
            metric=_Alarm.MetricProperty(
                namespace=metric.namespace,
                metric_name=metric.name,
                dimensions=[
                    _Alarm.DimensionProperty(name=name, value=value) for name, value in metric.dimensions.items()
                ],
            ),
        ),
    )
