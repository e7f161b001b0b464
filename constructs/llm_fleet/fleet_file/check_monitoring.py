"""Checks of the monitoring and the watch of a fleet file, with the same rules as the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.monitoring import WatchConfig
from llm_fleet.fleet_file.sagemaker import TrainingJobConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import AlarmCode, MetricsCode
from llm_fleet.rules.monitoring import (
    check_budget_tag,
    check_metrics,
    check_monitoring_spec,
    check_something_watched,
    check_watched_names,
)
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.sagemaker import watch as rules
from llm_fleet.rules.sagemaker.watch_followed import (
    check_followed,
    check_followed_something,
    check_room,
    check_watched_clusters,
)
from llm_fleet.spec.monitoring import MetricsDestination


def check_monitoring(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the monitoring of `fleet`, by attribute names."""
    config = fleet.monitoring
    if config is None:
        return
    budget, metrics = config.budget, config.metrics
    storage = fleet.storage
    parts = [part for part in (storage.fsx, storage.home, storage.slurm_database) if part is not None]
    clusters = fleet.clusters if config.clusters is None else config.clusters
    found = [
        *check_monitoring_spec(config),
        *check_watched_names(config.clusters or (), known=list(fleet.clusters)),
        *(each.under("budget") for each in (check_budget_tag(budget.tag, fleet.tags) if budget else ())),
        *check_something_watched(parts=len(clusters) + len(parts), budget=budget is not None),
        *(each.under("metrics") for each in (check_metrics(metrics, region=fleet.region) if metrics else ())),
    ]
    yield from (_with_unit(problem).under("monitoring") for problem in found)


def writes_to_prometheus(fleet: Fleet) -> bool:
    """Return whether nodes of `fleet` write to a workspace of Amazon Managed Service for Prometheus."""
    metrics = fleet.monitoring.metrics if fleet.monitoring is not None else None
    return metrics is not None and metrics.destination is MetricsDestination.PROMETHEUS and bool(fleet.clusters)


def _with_unit(problem: Problem) -> Problem:
    """Add the unit to a number of days in the remedy, as in the file."""
    is_days = problem.code in (AlarmCode.MONITORING_RETENTION, MetricsCode.RETENTION)
    return replace(problem, remedy=f"{problem.remedy} days") if is_days else problem


def check_watch(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the watch of `fleet`, by attribute names."""
    if fleet.watch is not None:
        clusters = check_watched_clusters(
            fleet.watch.clusters or (), hyperpod=list(fleet.hyperpod_clusters), others=list(fleet.parallelclusters)
        )
        found = [*rules.check_watch(fleet.watch), *clusters, *_check_whole(fleet, fleet.watch)]
        yield from (problem.under("watch") for problem in found)
    yield from _check_followed_jobs(fleet)


def _check_whole(fleet: Fleet, watch: WatchConfig) -> Iterator[Problem]:
    followed = [name for name, job in fleet.training_jobs.items() if job.watched is True]
    prefixes = [*watch.prefixes.values(), *followed]
    clusters = fleet.hyperpod_clusters if watch.clusters is None else watch.clusters
    yield from check_room(prefixes)
    unknown = is_unresolved(fleet.training_jobs)
    remedy = "write `watched: true` for a training job, or set `others` or `clusters`"
    found = check_followed_something(jobs=unknown or bool(prefixes), clusters=bool(clusters))
    yield from (replace(problem, remedy=remedy) for problem in found)


def _check_followed_jobs(fleet: Fleet) -> Iterator[Problem]:
    """Return why the watch of `fleet` cannot monitor its training jobs."""
    for name, job in fleet.training_jobs.items():
        found = list(_check_own_watch(fleet, job))
        if fleet.watch is not None and job.watched is True and not found:
            found = check_followed(job, fleet.watch, job.watch)
        yield from (_followed_in_file(problem, job).under("training_jobs", name) for problem in found)


def _check_own_watch(fleet: Fleet, job: TrainingJobConfig) -> Iterator[Problem]:
    if job.watch is None:
        return
    if fleet.watch is None or not job.watched:
        yield Problem(
            code=Code.CONTRADICTION,
            path=("watch",),
            message="this setting has no effect: the job has no watch",
            remedy="write `watch: {}` next to `training_jobs`, or remove this setting"
            if fleet.watch is None
            else "remove `watched: false`, or remove this setting",
        )
    yield from (problem.under("watch") for problem in rules.check_watch_settings(job.watch))


def _followed_in_file(problem: Problem, job: TrainingJobConfig) -> Problem:
    """Report a condition of the fleet's watch on the job that lacks the metric, since it may be valid for other
    jobs."""
    if problem.path[:1] != ("conditions",):
        return problem
    if job.watch is not None and job.watch.conditions is not None:
        return problem.under("watch")
    return replace(problem, path=("metrics",))
