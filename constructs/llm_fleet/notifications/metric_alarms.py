"""Metrics, alarms on them, and CloudWatch dashboards with both and what to do.

Dashboard format: docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
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
    """One metric with one statistic. Names and values of dimensions may be CDK tokens."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    statistic: str
    """`Average`, `Sum`, `Minimum`, `Maximum` or `SampleCount`."""
    period_seconds: int = 60
    label: str = ""
    """Label on dashboards."""

    def over(self, *, seconds: int) -> Self:
        """Return a copy with a period of `seconds`."""
        return replace(self, period_seconds=seconds)

    def as_cloudwatch(self) -> cloudwatch.IMetric:
        """Return a CDK metric, for your own alarms and dashboards."""
        return cloudwatch.Metric(
            namespace=self.namespace,
            metric_name=self.name,
            dimensions_map=dict(self.dimensions),
            statistic=self.statistic,
            period=cdk.Duration.seconds(self.period_seconds),
            label=self.label or None,
        )  # pyright: ignore[reportReturnType]


def function_metric(function_name: str, name: str, *, label: str, period_seconds: int) -> ServiceMetric:
    """Return the sum of a Lambda metric of a function: `Errors` or `Invocations`."""
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
    """An expression of CloudWatch metric math."""

    expression: str
    """E.g. `a + b`; `a` and `b` are keys of `metrics`."""
    metrics: Mapping[str, ServiceMetric] = field(default_factory=_no_metrics)
    """Metrics by their ids in `expression`, which begin with a lowercase letter."""
    period_seconds: int = 60
    label: str = ""
    """Label on dashboards."""

    def over(self, *, seconds: int) -> Self:
        """Return a copy with a period of `seconds`."""
        metrics = {id: metric.over(seconds=seconds) for id, metric in self.metrics.items()}
        return replace(self, metrics=MappingProxyType(metrics), period_seconds=seconds)

    def as_cloudwatch(self) -> cloudwatch.IMetric:
        """Return a CDK math expression, for your own alarms and dashboards."""
        return cloudwatch.MathExpression(
            expression=self.expression,
            using_metrics={id: metric.as_cloudwatch() for id, metric in self.metrics.items()},
            period=cdk.Duration.seconds(self.period_seconds),
            label=self.label or None,
        )  # pyright: ignore[reportReturnType]


Measure = ServiceMetric | MetricMath
"""A metric or a metric math expression."""


def average_sum(metrics: Mapping[str, ServiceMetric], *, label: str) -> Measure:
    """Return the sum of `metrics`, by their ids; a single metric is returned itself."""
    if len(metrics) == 1:
        return replace(next(iter(metrics.values())), label=label)
    return MetricMath(expression=" + ".join(metrics), metrics=MappingProxyType(dict(metrics)), label=label)


def threshold_words(figure: float, unit: str) -> str:
    """Return the threshold for a description; empty for a CDK token."""
    return "" if is_unresolved(figure) else f" ({figure:g}{unit} or more)"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmPlan:
    """One alarm. It changes to ALARM when `ringing` of the last `periods` values are beyond `threshold`."""

    id: str
    """Construct id, and suffix of the alarm's name."""
    measure: Measure
    """The metric with its period."""
    threshold: float
    below: bool = False
    """Whether values below the threshold are bad; otherwise those at or above it."""
    periods: int = 1
    ringing: int | None = None
    """Datapoints to alarm. Default: all `periods`."""
    missing: str = "notBreaching"
    """Missing data: `notBreaching` (OK), `breaching` (ALARM), or `missing` (INSUFFICIENT_DATA)."""
    meaning: str
    """What has happened, and what to do, in one paragraph."""
    reports_silence: bool = False
    """Whether it also notifies on INSUFFICIENT_DATA; only with `missing`.

    For metrics that must always have data: with `breaching`, the alarm would change to ALARM at its own deployment,
    before there can be data. This alarm begins in INSUFFICIENT_DATA, and CloudWatch notifies only on state changes.
    """


_Alarm = cloudwatch.CfnAlarm
_RESULT = "result"
_DESCRIPTION_LENGTH = 1024
"""CloudWatch's limit (API_PutMetricAlarm)."""


class MetricAlarms(Construct):
    """An alarm for each plan, which notifies a topic when it changes to ALARM and to OK.

    Without a topic they are visible only in CloudWatch and on dashboards.
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
        """Create the alarms `<name_prefix>-<id of the plan>`.

        `topic`: receives notifications. Default: none. An encrypted topic needs a KMS key that CloudWatch can use,
        which `alias/aws/sns` is not: `AlarmTopic` creates one.
        """
        super().__init__(scope, id)
        self.plans: tuple[AlarmPlan, ...] = tuple(plans)
        """Metric and meaning of each alarm."""
        self.alarms: Mapping[str, cloudwatch.CfnAlarm] = MappingProxyType(
            {plan.id: metric_alarm(self, plan, name_prefix=name_prefix, topic=topic) for plan in plans}
        )
        """The L1 constructs by plan id."""
        if topic is None:
            acknowledge_silence(self)


def metric_alarm(scope: Construct, plan: AlarmPlan, *, name_prefix: str, topic: sns.ITopic | None) -> _Alarm:
    """Return the alarm `<name_prefix>-<id of the plan>` in `scope`, with the plan's id."""
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
        # On the first state change of a new alarm, assumption: first-ok-sends-a-message
        ok_actions=actions,
        insufficient_data_actions=actions if plan.reports_silence else None,
    )


def acknowledge_silence(holder: Construct) -> None:
    """Acknowledge cdk-nag findings on alarms in `holder` without actions."""
    acknowledge(
        holder,
        "No topic is set; set `alarm_topic` to an SNS topic.",
        "NIST.800.53.R5-CloudWatchAlarmAction",
    )


def _queries(measure: Measure) -> list[cloudwatch.CfnAlarm.MetricDataQueryProperty]:
    """Return `measure` as metric queries of an alarm, with one result."""
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
    """Return the dashboard `<name>-<region>`: names are unique in an account across all regions (API_PutDashboard)."""
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
    """Return the rows of `measure` in a graph, with `prefix` before its ids, since ids are unique in a graph."""
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
    """Return a widget with the state of alarms."""
    return {"type": "alarm", "height": 3, "properties": {"title": "Alarms", "alarms": list(alarm_arns)}}


def text_widget(plans: Sequence[AlarmPlan]) -> dict[str, Any]:
    """Return a text widget with what to do about each alarm."""
    rows = "\n".join(f"| {plan.id} | {plan.meaning} |" for plan in plans)
    text = f"## What to do\n\n| alarm | meaning and remedy |\n|---|---|\n{rows}"
    return {"type": "text", "height": 2 + len(plans), "properties": {"markdown": text}}


def _placed(rows: Sequence[Sequence[dict[str, Any]]], region: str) -> list[dict[str, Any]]:
    """Set the position of each widget: the widgets of a row share its width."""
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
