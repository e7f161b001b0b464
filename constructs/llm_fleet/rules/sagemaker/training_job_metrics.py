"""The numbers that are read from a training job's log."""

import math
import re
from collections.abc import Iterator

from llm_fleet.catalog.training_jobs import training_job_limit
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.training_job_protocols import MetricLike, TrainingJobLike
from llm_fleet.rules.tokens import is_unresolved

_CODE = SageMakerCode.TRAINING_METRIC


def check_metrics(job: TrainingJobLike) -> list[Problem]:
    """Return what nothing could be read by, below `metrics` and the index."""
    limit = training_job_limit("AlgorithmSpecification.MetricDefinitions")
    problems: list[Problem] = []
    if len(job.metrics) > (limit.maximum or 0):
        message = f"a job has {limit.maximum} metrics at most, and these are {len(job.metrics)}"
        problems.append(
            Problem(
                code=_CODE,
                message=message,
                remedy="leave out those that no alarm and nobody looks at; MLflow takes any number",
                path=("metrics",),
                value=len(job.metrics),
                allowed=f"up to {limit.maximum}",
            )
        )
    for index, metric in enumerate(job.metrics):
        found = _metric(metric, [each.name for each in job.metrics[:index]])
        problems += [problem.under("metrics", index) for problem in found]
    return problems


def _metric(metric: MetricLike, earlier: list[str]) -> Iterator[Problem]:
    limit = training_job_limit("AlgorithmSpecification.MetricDefinitions[].Name")
    if not is_unresolved(metric.name):
        if not limit.holds(len(metric.name)) or not limit.matches(metric.name):
            yield _problem("this is no name of a metric", "write e.g. train:loss", "name", metric.name)
        elif metric.name in earlier:
            yield _problem(
                f"there are two metrics {metric.name!r}", "give one of them another name", "name", metric.name
            )
    yield from _regex(metric.regex)
    yield from _thresholds(metric)


def _regex(regex: str) -> Iterator[Problem]:
    """SageMaker does not say which dialect it reads; what Python's `re` cannot read is hardly one of any:
    assumption: training-metric-regex-dialect
    """
    if is_unresolved(regex):
        return
    limit = training_job_limit("AlgorithmSpecification.MetricDefinitions[].Regex")
    if not limit.holds(len(regex)):
        yield _problem(f"it is {len(regex)} characters long", "shorten it", "regex", regex, f"{limit.range} characters")
        return
    try:
        compiled = re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        yield _problem(f"this is no regular expression: {error}", "write e.g. 'loss': ([0-9.e+-]+)", "regex", regex)
        return
    if compiled.groups == 0:
        yield _problem(
            "the number is what the first group matches, and there is no group",
            "put parentheses around the part that matches the number, e.g. loss=([0-9.e+-]+)",
            "regex",
            regex,
        )


def _thresholds(metric: MetricLike) -> Iterator[Problem]:
    for attribute in ("above", "below"):
        value: object = getattr(metric, attribute)
        if value is None or is_unresolved(value):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            yield _problem("an alarm compares with a number", "write a number, or leave it out", attribute, value)
            return
    above, below = metric.above, metric.below
    if above is not None and below is not None and not is_unresolved([above, below]) and above <= below:
        yield _problem(
            "an alarm above this and one below the other leave no number without one",
            "let the upper threshold be the greater",
            "above",
            above,
            f"more than {below}",
        )


def _problem(message: str, remedy: str, attribute: str, value: object, allowed: str = "") -> Problem:
    return Problem(code=_CODE, message=message, remedy=remedy, path=(attribute,), value=value, allowed=allowed)
