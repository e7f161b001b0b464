"""A CloudWatch metric as plain data, so that alarms, dashboards and scaling say the same of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Self

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch


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
