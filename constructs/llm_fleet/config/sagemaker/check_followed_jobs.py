"""Training jobs of a fleet file under its watch."""

from collections.abc import Iterator

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.check_watch_settings import check_watch_settings
from llm_fleet.config.sagemaker.job_watch import JobWatchConfig
from llm_fleet.config.sagemaker.training_job import TrainingJobConfig
from llm_fleet.config.sagemaker.watch import WatchConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.watch_followed import FollowedJob, check_followed
from llm_fleet.rules.sagemaker.watch_restart import most_restarts


def check_followed_jobs(fleet: Fleet) -> Iterator[Problem]:
    """Return why the watch of `fleet` could not look after its training jobs, by attribute names."""
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
    yield from (problem.under("watch") for problem in check_watch_settings(job.watch))


def _followed(job: TrainingJobConfig, watch: WatchConfig) -> FollowedJob:
    own = job.watch or JobWatchConfig()
    conditions = watch.conditions if own.conditions is None else own.conditions
    return FollowedJob(
        name=job.name,
        has_checkpoints=job.checkpoints is not None,
        metrics=list(job.metrics),
        restarts=most_restarts(watch.restart if own.restart is None else own.restart),
        conditions=conditions.metrics,
    )


def _in_file(problem: Problem, job: TrainingJobConfig) -> Problem:
    """A condition of the fleet's watch is told of the job that lacks the metric: the watch may be right for others."""
    if problem.path[:1] != ("conditions",):
        return problem
    if job.watch is not None and job.watch.conditions is not None:
        return problem.under("watch")
    return Problem(
        code=problem.code,
        message=problem.message,
        remedy=problem.remedy,
        value=problem.value,
        allowed=problem.allowed,
        path=("metrics",),
    )
