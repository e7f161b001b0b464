"""Metrics, the alarms on them, and pages of CloudWatch's dashboards with both and what to do about them.

The form of a page: docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.rules.problem import is_unresolved


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceMetric:
    """One metric with one statistic. Names and values of dimensions may be tokens."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    statistic: str
    """`Average`, `Sum`, `Minimum`, `Maximum` or `SampleCount`."""
    period_seconds: int = 60
    label: str = ""
    """What a dashboard calls it."""

    def over(self, *, seconds: int) -> Self:
        """Return the same with a point every `seconds`."""
        return replace(self, period_seconds=seconds)

    def as_cloudwatch(self) -> cloudwatch.IMetric:
        """Return it as the CDK's metric, for alarms and dashboards of one's own."""
        return cloudwatch.Metric(
            namespace=self.namespace,
            metric_name=self.name,
            dimensions_map=dict(self.dimensions),
            statistic=self.statistic,
            period=cdk.Duration.seconds(self.period_seconds),
            label=self.label or None,
        )  # pyright: ignore[reportReturnType]


def function_metric(function_name: str, name: str, *, label: str, period_seconds: int) -> ServiceMetric:
    """Return a sum of Lambda's for a function: `Errors` or `Invocations`."""
    return ServiceMetric(
        namespace="AWS/Lambda",
        name=name,
        dimensions=MappingProxyType({"FunctionName": function_name}),
        statistic="Sum",
        period_seconds=period_seconds,
        label=label,
    )


def _no_metrics() -> Mapping[str, ServiceMetric]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricMath:
    """What is calculated of metrics, in CloudWatch's metric math."""

    expression: str
    """E.g. `a + b`; `a` and `b` are keys of `metrics`."""
    metrics: Mapping[str, ServiceMetric] = field(default_factory=_no_metrics)
    """By their ids in `expression`, which begin with a small letter."""
    period_seconds: int = 60
    label: str = ""
    """What a dashboard calls it."""

    def over(self, *, seconds: int) -> Self:
        """Return the same with a point every `seconds`."""
        metrics = {id: metric.over(seconds=seconds) for id, metric in self.metrics.items()}
        return replace(self, metrics=MappingProxyType(metrics), period_seconds=seconds)

    def as_cloudwatch(self) -> cloudwatch.IMetric:
        """Return it as the CDK's expression, for alarms and dashboards of one's own."""
        return cloudwatch.MathExpression(
            expression=self.expression,
            using_metrics={id: metric.as_cloudwatch() for id, metric in self.metrics.items()},
            period=cdk.Duration.seconds(self.period_seconds),
            label=self.label or None,
        )  # pyright: ignore[reportReturnType]


Measure = ServiceMetric | MetricMath
"""A number over time."""


def average_sum(metrics: Mapping[str, ServiceMetric], *, label: str) -> Measure:
    """Return the sum of `metrics`, by their ids; the one metric itself when there is one."""
    if len(metrics) == 1:
        return replace(next(iter(metrics.values())), label=label)
    return MetricMath(expression=" + ".join(metrics), metrics=MappingProxyType(dict(metrics)), label=label)


def threshold_words(figure: float, unit: str) -> str:
    """Return the threshold as it stands in a description; nothing of one that only the deployment knows."""
    return "" if is_unresolved(figure) else f" ({figure:g}{unit} or more)"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmPlan:
    """One alarm. It rings when `ringing` of the last `periods` values are beyond `threshold`."""

    id: str
    """Construct id, and the end of the alarm's name."""
    measure: Measure
    """What is looked at, with its period."""
    threshold: float
    below: bool = False
    """Whether it rings below the threshold; else at it and above."""
    periods: int = 1
    ringing: int | None = None
    """Default: all `periods`."""
    missing: str = "notBreaching"
    """What no value means: `notBreaching` all is well, `breaching` it is not, `missing` nobody knows."""
    meaning: str
    """What has happened, and what to do. One line, for whoever is called at night."""
    reports_silence: bool = False
    """Whether it tells when it no longer knows anything; only with `missing` for no value.

    For what must speak: an alarm on no value as `breaching` rings at its own deployment, before anything could speak.
    This one begins without knowledge, and CloudWatch acts only on a change.
    """


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
        datapoints_to_alarm=plan.periods if plan.ringing is None else plan.ringing,
        treat_missing_data=plan.missing,
        metrics=_queries(plan.measure),
        alarm_actions=actions,
        # Of an alarm's first minutes: assumption: first-ok-sends-a-message
        ok_actions=actions,
        insufficient_data_actions=actions if plan.reports_silence else None,
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


_COLUMNS = 24
_HEIGHT = 6
_PERIOD = 60


def page(rows: Sequence[Sequence[dict[str, Any]]], region: str) -> dict[str, Any]:
    """Return the body of a dashboard over three hours; the widgets of a row share its width."""
    return {"start": "-PT3H", "periodOverride": "inherit", "widgets": _placed(rows, region)}


def render_dashboard(
    scope: Construct, id: str, name: str, rows: Sequence[Sequence[dict[str, Any]]]
) -> cloudwatch.CfnDashboard:
    """Return the dashboard `<name>-<region>`: an account has one of a name in all its regions (API_PutDashboard)."""
    stack = cdk.Stack.of(scope)
    return cloudwatch.CfnDashboard(
        scope,
        id,
        dashboard_name=f"{name}-{stack.region}",
        dashboard_body=stack.to_json_string(page(rows, stack.region)),
    )


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
