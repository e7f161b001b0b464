"""Alarms of CloudWatch, as they were planned."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.notifications.alarm_plan import AlarmPlan
from llm_fleet.notifications.metric import Measure, ServiceMetric

_Alarm = cloudwatch.CfnAlarm
_RESULT = "result"
_DESCRIPTION_LENGTH = 1024
"""CloudWatch's limit (API_PutMetricAlarm)."""


class MetricAlarms(Construct):
    """An alarm for each plan, which tells a topic when it rings and when it is quiet again.

    With no topic they are to be seen in CloudWatch and on dashboards only.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        plans: Sequence[AlarmPlan],
        name_prefix: str,
        topic: sns.ITopic | None = None,
    ) -> None:
        """Make the alarms `<name_prefix>-<id of the plan>`.

        `topic`: who is told. Default nobody. An encrypted one needs a key that CloudWatch may use, which
        `alias/aws/sns` is not: `AlarmTopic` makes one.
        """
        super().__init__(scope, id)
        self.plans: tuple[AlarmPlan, ...] = tuple(plans)
        """What each alarm looks at and means."""
        self.alarms: Mapping[str, cloudwatch.CfnAlarm] = MappingProxyType(
            {plan.id: metric_alarm(self, plan, name_prefix=name_prefix, topic=topic) for plan in plans}
        )
        """The L1s by the ids of their plans."""
        if topic is None:
            acknowledge_silence(self)


def metric_alarm(scope: Construct, plan: AlarmPlan, *, name_prefix: str, topic: sns.ITopic | None) -> _Alarm:
    """Return the alarm `<name_prefix>-<id of the plan>` below `scope`, by the id of the plan."""
    actions = [topic.topic_arn] if topic else None
    return _Alarm(
        scope,
        plan.id,
        alarm_name=f"{name_prefix}-{plan.id}",
        alarm_description=plan.meaning[:_DESCRIPTION_LENGTH],
        comparison_operator="LessThanThreshold" if plan.below else "GreaterThanOrEqualToThreshold",
        threshold=plan.threshold,
        evaluation_periods=plan.periods,
        datapoints_to_alarm=plan.ringing,
        treat_missing_data=plan.missing,
        metrics=_queries(plan.measure),
        alarm_actions=actions,
        # Of an alarm's first minutes: assumption: first-ok-sends-a-message
        ok_actions=actions,
        insufficient_data_actions=actions if plan.tells_silence else None,
    )


def acknowledge_silence(holder: Construct) -> None:
    """Say why the alarms below `holder` tell nobody."""
    acknowledge(
        holder,
        "Nobody was told to be called; `alarm_topic` takes an SNS topic.",
        "NIST.800.53.R5-CloudWatchAlarmAction",
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
