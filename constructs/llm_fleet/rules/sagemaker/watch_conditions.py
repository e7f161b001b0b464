"""When a job that runs is believed to run in vain."""

from collections.abc import Mapping, Sequence

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.training_watch import LossSpikeFacts, ThroughputDropFacts, training_watch_facts
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.positive import check_positive
from llm_fleet.rules.sagemaker.watch_protocols import ConditionLike, LossSpikeLike, StallLike, ThroughputDropLike
from llm_fleet.rules.tokens import is_unresolved

_CODE = SageMakerCode.WATCH_CONDITION
_LEAST_STALL = 2
"""Minutes: SageMaker sends what it reads in logs once a minute, so that one without a value says nothing."""


def check_loss_spike(spike: LossSpikeLike) -> list[Problem]:
    """Return what is wrong with a condition on a loss, by the attributes of `LossSpikeLike`."""
    return [
        *check_metric_name(spike),
        *_check_factor(spike.factor),
        *_check_window(spike, training_watch_facts().loss_spike),
    ]


def check_stall(stall: StallLike) -> list[Problem]:
    """Return what is wrong with a condition on a metric that ends, by the attributes of `StallLike`."""
    longest = training_watch_facts().limits.alarm_window_minutes
    limit = Limit(minimum=_LEAST_STALL, maximum=longest)
    return [
        *check_metric_name(stall),
        *check_number(stall.minutes, limit, _CODE, "minutes", what="the minutes without a value"),
    ]


def check_throughput_drop(drop: ThroughputDropLike) -> list[Problem]:
    """Return what is wrong with a condition on a throughput, by the attributes of `ThroughputDropLike`."""
    remedy = "write a part of the best of late, e.g. 0.5 for half of it"
    problems = check_positive(
        drop.below_fraction, _CODE, "below_fraction", what="the fraction", remedy=remedy, most=1.0
    )
    if not problems and drop.below_fraction == 1:
        problems = [_fraction_of_one(remedy)]
    return [*check_metric_name(drop), *problems, *_check_window(drop, training_watch_facts().throughput_drop)]


def check_metric_name(condition: ConditionLike) -> list[Problem]:
    """Return a problem when `condition` names no metric."""
    metric = condition.metric
    if is_unresolved(metric) or (isinstance(metric, str) and metric.strip()):  # pyright: ignore[reportUnnecessaryIsInstance]
        return []
    return [
        Problem(
            code=_CODE,
            path=("metric",),
            value=metric,
            message="the condition names no metric",
            allowed="the name of a metric definition of the job",
            remedy="write the name of one of the job's metrics, e.g. 'train:loss'",
        )
    ]


def check_metrics_are_defined(
    conditions: Mapping[str, str], metrics: Sequence[str], *, job: str, path: Sequence[str | int] = ()
) -> list[Problem]:
    """Return a problem for each of `conditions` (kind to metric) whose metric is none of `metrics` of `job`."""
    offered = ", ".join(sorted(metrics))
    return [
        Problem(
            code=SageMakerCode.WATCH_METRIC,
            path=(*path, kind, "metric"),
            value=metric,
            message=f"job {job} defines no metric of this name, so that nothing would ever be noticed",
            allowed=f"one of {offered}" if offered else "a metric that the job defines; it defines none",
            remedy=f"define {metric!r} among the job's metrics, with a regex that reads it from the log, or give "
            "the job conditions of its own",
        )
        for kind, metric in conditions.items()
        if not is_unresolved(metric) and not is_unresolved(metrics) and metric not in metrics
    ]


def check_grace(minutes: int | None, *path: str) -> list[Problem]:
    """Return a problem for a grace that no alarm knows."""
    limit = Limit(minimum=0, maximum=training_watch_facts().limits.alarm_window_minutes)
    return check_number(minutes, limit, _CODE, *path, "grace_minutes", what="the grace")


def told_or(told: int | None, default: int) -> int:
    """Return what is told, or the `default`."""
    return default if told is None else told


def _check_factor(factor: float | None) -> list[Problem]:
    remedy = "write how many times the best of late the loss must be, e.g. 2"
    problems = check_positive(factor, _CODE, "factor", what="the factor", remedy=remedy)
    if problems or factor is None or is_unresolved(factor) or factor > 1:
        return problems
    return [
        Problem(
            code=_CODE,
            path=("factor",),
            value=factor,
            message="the loss is always this many times the smallest of late: the alarm would ring at once",
            allowed="a number above 1",
            remedy=remedy,
        )
    ]


def _fraction_of_one(remedy: str) -> Problem:
    return Problem(
        code=_CODE,
        path=("below_fraction",),
        value=1,
        message="the throughput is always below the best of late, or is it: the alarm would ring at once",
        allowed="a number between 0 and 1",
        remedy=remedy,
    )


def _check_window(
    condition: LossSpikeLike | ThroughputDropLike, defaults: LossSpikeFacts | ThroughputDropFacts
) -> list[Problem]:
    longest = training_watch_facts().limits.alarm_window_minutes
    limit = Limit(minimum=1, maximum=longest)
    problems = [
        *check_number(condition.minutes, limit, _CODE, "minutes", what="the number of minutes"),
        *check_number(condition.window_minutes, limit, _CODE, "window_minutes", what="the window"),
    ]
    minutes = told_or(condition.minutes, defaults.minutes)
    window = told_or(condition.window_minutes, defaults.window_minutes)
    if problems or is_unresolved(minutes) or is_unresolved(window) or minutes < window:
        return problems
    return [
        Problem(
            code=_CODE,
            path=("window_minutes" if condition.minutes is None else "minutes",),
            value=window if condition.minutes is None else minutes,
            message=f"{minutes} minutes of a window of {window} are to be bad, and none is left to compare them with",
            allowed=f"minutes below {window}, or a window above {minutes}",
            remedy="write fewer minutes, or a longer window",
        )
    ]
