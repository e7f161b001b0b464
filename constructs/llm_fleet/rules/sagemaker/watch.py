"""How a watch looks after training jobs: conditions, layouts of checkpoints, restarts, and jobs that others start."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from llm_fleet.catalog.training_job import training_watch_facts
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem, is_unresolved, under
from llm_fleet.rules.values import check_known, check_positive, is_above
from llm_fleet.spec.watch import (
    CheckpointLayout,
    JobWatch,
    LossSpike,
    RestartPolicy,
    ThroughputDrop,
    WatchCondition,
    WatchedJobs,
    WatchSpec,
)

_CODE = SageMakerCode.WATCH_CONDITION
_LAYOUT = SageMakerCode.CHECKPOINT_LAYOUT
_EXAMPLE = r"checkpoint-(\d+)"
_PREFIX = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*-?")
_PREFIX_LENGTH = 48
"""Of 63 characters: a long name is shortened for a digest of it and the number of a restart, and what the watch starts
must begin as its events are let through and its role may."""
_S3_URI = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^*?$]+)")


def check_watch(watch: WatchSpec) -> list[Problem]:
    """Return what is wrong with `watch` by itself, by its attributes."""
    restarts = watch.restart.maximum != 0
    others = [
        problem
        for name, jobs in watch.others.items()
        for problem in under(_check_others(jobs, watch.prefixes[name], restarts=restarts), "others", name)
    ]
    return [*check_watch_settings(watch), *others, *check_prefixes(watch.prefixes)]


def check_watch_settings(watch: WatchSpec | JobWatch) -> Iterator[Problem]:
    """Return what is wrong with restarts, conditions, layout and grace of `watch`, by its attributes."""
    yield from check_fields(watch)
    if watch.restart is not None:
        yield from under(_check_order(watch.restart), "restart")
    if watch.conditions is not None:
        for kind, condition in watch.conditions.by_kind.items():
            yield from under(_check_condition(condition), "conditions", kind)
    if watch.checkpoints is not None:
        yield from under(check_layout(watch.checkpoints), "checkpoints")


def _check_order(restart: RestartPolicy) -> Iterator[Problem]:
    first, longest = restart.back_off_seconds, restart.longest_wait_seconds
    if not check_fields(restart) and is_above(first, longest):
        yield restart.wrong(
            "longest_back_off_seconds",
            SageMakerCode.WATCH_RESTARTS,
            f"no wait is longer than {longest} s, and the first alone is {first} s",
            f"write {first} or more, or a shorter first wait",
            value=longest,
            allowed=f"{first} or more",
        )


def _check_condition(condition: WatchCondition) -> Iterator[Problem]:
    if not is_unresolved(condition.metric) and not condition.metric.strip():
        yield condition.wrong(
            "metric",
            _CODE,
            "the condition names no metric",
            "write the name of one of the job's metrics, e.g. 'train:loss'",
            allowed="the name of a metric definition of the job",
        )
    if isinstance(condition, LossSpike):
        yield from _check_factor(condition)
        yield from _check_window(condition)
    if isinstance(condition, ThroughputDrop):
        yield from _check_fraction(condition)
        yield from _check_window(condition)


def _check_fraction(drop: ThroughputDrop) -> Iterator[Problem]:
    remedy, fraction = "write a part of the best of late, e.g. 0.5 for half of it", drop.below_fraction
    problems = check_positive(fraction, _CODE, "below_fraction", what="the fraction", remedy=remedy, most=1.0)
    yield from problems
    if not problems and fraction == 1:
        yield drop.wrong(
            "below_fraction",
            _CODE,
            "the throughput is always below the best of late, or is it: the alarm would ring at once",
            remedy,
            value=1,
            allowed="a number between 0 and 1",
        )


def check_metrics_are_defined(
    conditions: Mapping[str, str], metrics: Collection[str], *, job: str, path: Sequence[str | int] = ()
) -> Iterator[Problem]:
    """Return a problem for each of `conditions` (kind to metric) whose metric is none of `metrics` of `job`."""
    offered = ", ".join(sorted(metrics))
    yield from (
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
    )


def _check_factor(spike: LossSpike) -> Iterator[Problem]:
    remedy = "write how many times the best of late the loss must be, e.g. 2"
    problems = check_positive(spike.factor, _CODE, "factor", what="the factor", remedy=remedy)
    yield from problems
    if not problems and not is_unresolved(spike.factor) and spike.factor <= 1:
        yield spike.wrong(
            "factor",
            _CODE,
            "the loss is always this many times the smallest of late: the alarm would ring at once",
            remedy,
            allowed="a number above 1",
        )


def _check_window(condition: LossSpike | ThroughputDrop) -> Iterator[Problem]:
    minutes, window = condition.minutes, condition.window_minutes
    if check_fields(condition) or is_unresolved(minutes) or is_unresolved(window) or minutes < window:
        return
    by_default = "minutes" not in condition.model_fields_set
    yield condition.wrong(
        "window_minutes" if by_default else "minutes",
        _CODE,
        f"{minutes} minutes of a window of {window} are to be bad, and none is left to compare them with",
        "write fewer minutes, or a longer window",
        allowed=f"minutes below {window}, or a window above {minutes}",
    )


def check_layout(layout: CheckpointLayout) -> list[Problem]:
    """Return what is wrong with a layout, by the attributes of `CheckpointLayout`."""
    if layout.known is not None:
        return check_known(
            layout.known,
            training_watch_facts().layouts,
            _LAYOUT,
            "known",
            message="no layout of checkpoints has this name",
            otherwise="write one of these, or tell the pattern of a folder",
        )
    return [
        *_check_pattern(layout.pattern),
        *_check_file(layout.marker, "marker", "the file that ends a checkpoint lies in it", "trainer_state.json"),
        *_check_file(layout.pointer, "pointer", "the file that names the newest lies beside the folders", "latest"),
    ]


def _check_pattern(pattern: str | None) -> Iterator[Problem]:
    if pattern is not None and is_unresolved(pattern):
        return
    if not pattern:
        fault = "the pattern of a checkpoint's folder is missing"
    else:
        compiled = _compiled(pattern)
        if isinstance(compiled, str):
            fault = f"the pattern does not compile: {compiled}"
        elif compiled.groups != 1:
            fault = f"the pattern has {compiled.groups} groups, and its one group must be the step"
        elif "/" in pattern:
            fault = "the pattern has a slash, and is of one folder right below the checkpoints' prefix"
        else:
            return
    yield Problem(
        code=_LAYOUT,
        path=("pattern",),
        value=pattern,
        message=fault,
        allowed="a regular expression of Python with one group, which holds the step",
        remedy=f"write e.g. {_EXAMPLE!r}; a group that only groups is written (?:…)",
    )


def _check_file(name: str | None, attribute: str, message: str, example: str) -> Iterator[Problem]:
    if name is None or is_unresolved(name) or (name.strip("/") and not name.startswith("/") and ".." not in name):
        return
    yield Problem(
        code=_LAYOUT,
        path=(attribute,),
        value=name,
        message=message,
        allowed="a name without a leading slash",
        remedy=f"write e.g. {example!r}, or leave it out when there is none",
    )


def _compiled(pattern: str) -> re.Pattern[str] | str:
    """Return `pattern` compiled, or what is wrong with it."""
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        return str(error)


def _check_others(jobs: WatchedJobs, prefix: str, *, restarts: bool) -> list[Problem]:
    places = (problem for index, uri in enumerate(jobs.checkpoints) for problem in _check_place(uri, index))
    return [*check_prefix(prefix), *places, *(_check_others_restart(jobs) if restarts else [])]


def _check_others_restart(jobs: WatchedJobs) -> Iterator[Problem]:
    """Return a problem for each thing without which `jobs` could not be started again."""
    missing = {
        "roles": ("what these jobs run as is not told: the watch could pass no role on", "write their execution roles"),
        "checkpoints": (
            "where these jobs keep checkpoints is not told: the watch could find none",
            "write the S3 URIs below which they lie",
        ),
    }
    yield from (
        Problem(
            code=SageMakerCode.WATCH_OTHERS,
            path=(attribute,),
            message=message,
            remedy=f"{remedy}, or let the watch restart nothing (a maximum of 0)",
        )
        for attribute, (message, remedy) in missing.items()
        if not getattr(jobs, attribute)
    )


def check_prefix(prefix: str) -> list[Problem]:
    """Return a problem unless `prefix` is what names of some jobs begin with, and of few others."""
    if is_unresolved(prefix):
        return []
    least = training_watch_facts().limits.prefix_characters
    if not _PREFIX.fullmatch(prefix):
        fault = "names of training jobs have letters, digits and hyphens, so that none begins with this"
    elif len(prefix) < least:
        fault = f"a prefix of fewer than {least} characters catches jobs that nobody meant"
    elif len(prefix) > _PREFIX_LENGTH:
        fault = "names of restarts are shortened to 63 characters, and must still begin with this"
    else:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_PREFIX,
            path=("prefix",),
            value=prefix,
            message=fault,
            allowed=f"{least} to {_PREFIX_LENGTH} letters, digits and hyphens; a letter or digit first",
            remedy="write what the names of these jobs begin with, e.g. 'alice-' for the SDK's base_job_name='alice-…'",
        )
    ]


def check_prefixes(prefixes: Mapping[str, str]) -> list[Problem]:
    """Return a problem for each of the `prefixes` of others that is there already; of two within each other, the
    longer decides."""
    named = list(prefixes.values())
    return [
        Problem(
            code=SageMakerCode.WATCH_TWICE,
            path=("others", name, "prefix"),
            value=prefix,
            message="jobs of this prefix are watched already",
            remedy="leave one of the two out",
        )
        for index, (name, prefix) in enumerate(prefixes.items())
        if prefix in named[:index]
    ]


def _check_place(uri: str, index: int) -> Iterator[Problem]:
    if not is_unresolved(uri) and not _S3_URI.fullmatch(uri):
        yield Problem(
            code=SageMakerCode.WATCH_OTHERS,
            path=("checkpoints", index),
            value=uri,
            message="this is no prefix of a bucket below which checkpoints lie",
            allowed="s3://<bucket>/<prefix>, without `*`, `?` or `$`",
            remedy="write e.g. 's3://my-bucket/alice'; a whole bucket would let the watch write anywhere in it",
        )
