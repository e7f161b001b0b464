"""The numbers that are read from a training job's log."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.training_job import training_job_limit
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_data import JobMetric

_CODE = SageMakerCode.TRAINING_METRIC


def check_metrics(job: TrainingJobSpec) -> list[Problem]:
    """Return what nothing could be read by, below `metrics` and the name."""
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
    for name, metric in job.metrics.items():
        problems += [problem.under("metrics", name) for problem in _metric(name, metric)]
    return problems


def _metric(name: str, metric: JobMetric) -> Iterator[Problem]:
    limit = training_job_limit("AlgorithmSpecification.MetricDefinitions[].Name")
    if not is_unresolved(name) and (not limit.holds(len(name)) or not limit.matches(name)):
        yield replace(_problem("this is no name of a metric", "write e.g. train:loss", "name", name), path=())
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


def _thresholds(metric: JobMetric) -> Iterator[Problem]:
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
