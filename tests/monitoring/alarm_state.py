"""The state of an alarm after values, by CloudWatch's rules: metric math, M of N, and missing data.

docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html; metric math has only IF and FILL.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from llm_fleet.notifications.metric_alarms import AlarmPlan, ServiceMetric

Values = Sequence[float | None]


def is_in_alarm(plan: AlarmPlan, values: Mapping[str, Values] | Values) -> bool:
    """Return whether `plan` is in ALARM after `values`: one per period, newest last; by id for metric math."""
    points = _points(plan, values)[-plan.periods :]
    if plan.missing == "missing" and not any(point is not None for point in points):
        return plan.reports_silence
    beyond = [_beyond(plan, point) for point in [None] * (plan.periods - len(points)) + points]
    return sum(beyond) >= (plan.ringing or plan.periods)


def _beyond(plan: AlarmPlan, point: float | None) -> bool:
    if point is None:
        return plan.missing == "breaching"
    return point < plan.threshold if plan.below else point >= plan.threshold


def _points(plan: AlarmPlan, values: Mapping[str, Values] | Values) -> list[float | None]:
    if isinstance(plan.measure, ServiceMetric):
        assert not isinstance(values, Mapping)
        return list(values)
    assert isinstance(values, Mapping)
    assert set(values) == set(plan.measure.metrics)
    rows = zip(*values.values(), strict=True)
    return [_calculate(plan.measure.expression, dict(zip(values, row, strict=True))) for row in rows]


def _calculate(expression: str, row: Mapping[str, float | None]) -> float | None:
    words: dict[str, Any] = {"IF": _if, "FILL": _fill}
    try:
        return eval(expression, {"__builtins__": {}}, {**words, **row})
    except TypeError:  # for a missing value
        return None


def _if(test: bool, then: float, other: float) -> float:
    return then if test else other


def _fill(value: float | None, fill: float) -> float:
    return fill if value is None else value
