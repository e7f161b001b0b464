"""Settings of a watch over training jobs: conditions, checkpoint layouts, restarts, and jobs that others start."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from llm_fleet.catalog.training_job import training_watch_facts
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem, is_unresolved, under
from llm_fleet.rules.values import check_known, check_positive, is_above
from llm_fleet.spec.values import SECONDS
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
"""Of the 63 characters of a job's name, the rest is for a digest and the number of the restart. The names of restarts
must begin with the prefix that the EventBridge rule and the watch's role allow."""
_S3_URI = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^*?$]+)")


def check_watch(watch: WatchSpec) -> list[Problem]:
    """Return what is wrong with `watch` on its own, by its attributes."""
    restarts = watch.restart.maximum != 0
    others = [
        problem
        for name, jobs in watch.others.items()
        for problem in under(_check_others(jobs, watch.prefixes[name], restarts=restarts), "others", name)
    ]
    return [*check_watch_settings(watch), *others, *check_prefixes(watch.prefixes)]


def check_watch_settings(watch: WatchSpec | JobWatch) -> Iterator[Problem]:
    """Return what is wrong with restarts, conditions, checkpoint layout and grace of `watch`, by its attributes."""
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
            f"the longest wait before a restart is shorter than the first wait, {SECONDS.text(first)}",
            f"write at least {SECONDS.text(first)}, or reduce the first wait",
            value=longest,
            allowed=f"{SECONDS.text(first)} or more",
        )


def _check_condition(condition: WatchCondition) -> Iterator[Problem]:
    if not is_unresolved(condition.metric) and not condition.metric.strip():
        yield condition.wrong(
            "metric",
            _CODE,
            "the condition has no metric",
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
    remedy, fraction = "write a fraction of the best recent throughput, e.g. 0.5 for half of it", drop.below_fraction
    problems = check_positive(fraction, _CODE, "below_fraction", what="the fraction", remedy=remedy, most=1.0)
    yield from problems
    if not problems and fraction == 1:
        yield drop.wrong(
            "below_fraction",
            _CODE,
            "a fraction of 1 is the best recent throughput itself, so that the alarm would ring immediately",
            remedy,
            value=1,
            allowed="a number between 0 and 1",
        )


def check_metrics_are_defined(
    conditions: Mapping[str, str], metrics: Collection[str], *, job: str, path: Sequence[str | int] = ()
) -> Iterator[Problem]:
    """Return a problem for each of `conditions` (kind to metric) whose metric is not in `metrics` of `job`."""
    offered = ", ".join(sorted(metrics))
    yield from (
        Problem(
            code=SageMakerCode.WATCH_METRIC,
            path=(*path, kind, "metric"),
            value=metric,
            message=f"job {job} defines no metric with this name, so that the condition could never be met",
            allowed=f"one of {offered}" if offered else "a metric that the job defines (it defines none)",
            remedy=f"add {metric!r} to the job's `metrics`, with a regex that reads it from the log, or give "
            "the job its own `conditions`",
        )
        for kind, metric in conditions.items()
        if not is_unresolved(metric) and not is_unresolved(metrics) and metric not in metrics
    )


def _check_factor(spike: LossSpike) -> Iterator[Problem]:
    remedy = "write how many times the smallest recent loss the loss must be, e.g. 2"
    problems = check_positive(spike.factor, _CODE, "factor", what="the factor", remedy=remedy)
    yield from problems
    if not problems and not is_unresolved(spike.factor) and spike.factor <= 1:
        yield spike.wrong(
            "factor",
            _CODE,
            "the loss is always at least the smallest recent loss, so that the alarm would ring immediately",
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
        f"{minutes} bad minutes fill the whole window of {window} minutes, so that none is left for comparison",
        "write fewer `minutes`, or a longer window",
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
            message="unknown layout of checkpoints",
            otherwise="write one of the allowed layouts, or set `pattern` to the pattern of the folders",
        )
    return [
        *_check_pattern(layout.pattern),
        *_check_file(
            layout.marker, "marker", "`marker` must be a file inside the folder of a checkpoint", "trainer_state.json"
        ),
        *_check_file(layout.pointer, "pointer", "`pointer` must be a file next to the checkpoint folders", "latest"),
    ]


def _check_pattern(pattern: str | None) -> Iterator[Problem]:
    if pattern is not None and is_unresolved(pattern):
        return
    if not pattern:
        fault = "`pattern` or the name of a layout is required"
    else:
        compiled = _compiled(pattern)
        if isinstance(compiled, str):
            fault = f"the pattern does not compile: {compiled}"
        elif compiled.groups != 1:
            fault = f"the pattern must have exactly one group, for the step, and has {compiled.groups}"
        elif "/" in pattern:
            fault = "the pattern must not contain a slash: it matches a folder directly below the checkpoints' prefix"
        else:
            return
    yield Problem(
        code=_LAYOUT,
        path=("pattern",),
        value=pattern,
        message=fault,
        allowed="a Python regular expression with one group, which matches the step",
        remedy=f"write e.g. `{_EXAMPLE}`; write other groups as non-capturing, (?:…)",
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
        remedy=f"write e.g. `{example}`, or remove it if there is none",
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
    """Return a problem for each missing setting without which `jobs` cannot be restarted."""
    missing = {
        "roles": (
            "`roles` is required to restart jobs: the watch must pass their execution role",
            "write their execution roles",
        ),
        "checkpoints": (
            "`checkpoints` is required to restart jobs: the watch must find their checkpoints",
            "write the S3 URIs below which they are stored",
        ),
    }
    yield from (
        Problem(
            code=SageMakerCode.WATCH_OTHERS,
            path=(attribute,),
            message=message,
            remedy=f"{remedy}, or disable restarts (a maximum of 0)",
        )
        for attribute, (message, remedy) in missing.items()
        if not getattr(jobs, attribute)
    )


def check_prefix(prefix: str) -> list[Problem]:
    """Return a problem unless `prefix` is valid for names of training jobs, and long enough to match few others."""
    if is_unresolved(prefix):
        return []
    least = training_watch_facts().limits.prefix_characters
    if not _PREFIX.fullmatch(prefix):
        fault = "no name of a training job can begin with this prefix: names have letters, digits and hyphens"
    elif len(prefix) < least:
        fault = f"a prefix shorter than {least} characters would match unrelated jobs"
    elif len(prefix) > _PREFIX_LENGTH:
        fault = (
            f"a prefix longer than {_PREFIX_LENGTH} characters leaves no room for the names of restarts, which have 63"
        )
    else:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_PREFIX,
            path=("prefix",),
            value=prefix,
            message=fault,
            allowed=f"{least} to {_PREFIX_LENGTH} letters, digits and hyphens; a letter or digit first",
            remedy="write the prefix of these jobs' names, e.g. `alice-` for base_job_name='alice-…' of the SDK",
        )
    ]


def check_prefixes(prefixes: Mapping[str, str]) -> list[Problem]:
    """Return a problem for each of the `prefixes` that is repeated. Where one prefix begins with another, the longer
    one decides."""
    named = list(prefixes.values())
    return [
        Problem(
            code=SageMakerCode.WATCH_TWICE,
            path=("others", name, "prefix"),
            value=prefix,
            message="jobs with this prefix are already watched",
            remedy="remove one of the two",
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
            message="this is not an S3 URI with a prefix",
            allowed="s3://<bucket>/<prefix>, without `*`, `?` or `$`",
            remedy="write e.g. 's3://my-bucket/alice'; with a whole bucket, the watch could write anywhere in it",
        )
