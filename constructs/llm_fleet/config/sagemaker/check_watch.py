"""The watch of a fleet file and the training jobs under it, judged by the rules that judge the construct."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.training_job import TrainingJobConfig
from llm_fleet.config.sagemaker.watch import WatchConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker import watch as rules
from llm_fleet.rules.sagemaker.watch_followed import (
    FollowedJob,
    check_followed,
    check_followed_something,
    check_room,
    check_watched_clusters,
)
from llm_fleet.spec.watch import JobWatch


def check_watch(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the watch of `fleet`, by attribute names."""
    if fleet.watch is not None:
        clusters = check_watched_clusters(
            fleet.watch.clusters or (), hyperpod=list(fleet.hyperpod_clusters), others=list(fleet.parallelclusters)
        )
        found = [*rules.check_watch(fleet.watch), *clusters, *_check_whole(fleet, fleet.watch)]
        yield from (problem.under("watch") for problem in found)
    yield from _check_followed_jobs(fleet)


def _check_whole(fleet: Fleet, watch: WatchConfig) -> Iterator[Problem]:
    followed = [name for name, job in fleet.training_jobs.items() if job.watched]
    prefixes = [*watch.prefixes.values(), *followed]
    clusters = fleet.hyperpod_clusters if watch.clusters is None else watch.clusters
    yield from check_room(prefixes)
    yield from check_followed_something(jobs=bool(prefixes), clusters=bool(clusters))


def _check_followed_jobs(fleet: Fleet) -> Iterator[Problem]:
    """Return why the watch of `fleet` could not look after its training jobs."""
    for name, job in fleet.training_jobs.items():
        found = list(_check_own(fleet, job))
        if fleet.watch is not None and job.watched and not found:
            found = check_followed(_followed(job, fleet.watch))
        yield from (_in_file(problem, job).under("training_jobs", name) for problem in found)


def _check_own(fleet: Fleet, job: TrainingJobConfig) -> Iterator[Problem]:
    if job.watch is None:
        return
    if fleet.watch is None or not job.watched:
        yield Problem(
            code=Code.CONTRADICTION,
            path=("watch",),
            message="nobody watches over this job who could do as this says",
            remedy="write `watch: {}` beside `training_jobs`, or leave this out"
            if fleet.watch is None
            else "leave `watched: false` out, or this",
        )
    yield from (problem.under("watch") for problem in rules.check_watch_settings(job.watch))


def _followed(job: TrainingJobConfig, watch: WatchConfig) -> FollowedJob:
    own = job.watch or JobWatch()
    return FollowedJob(
        name=job.name,
        has_checkpoints=job.checkpoints is not None,
        metrics=list(job.metrics),
        restarts=(own.restart or watch.restart).maximum,
        conditions=(watch.conditions if own.conditions is None else own.conditions).metrics,
    )


def _in_file(problem: Problem, job: TrainingJobConfig) -> Problem:
    """A condition of the fleet's watch is reported of the job that lacks the metric: it may be right for others."""
    if problem.path[:1] != ("conditions",):
        return problem
    if job.watch is not None and job.watch.conditions is not None:
        return problem.under("watch")
    return replace(problem, path=("metrics",))
