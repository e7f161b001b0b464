"""The watch of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.check_followed_jobs import check_followed_jobs
from llm_fleet.config.sagemaker.check_watch_settings import check_watch_settings
from llm_fleet.config.sagemaker.watch import WatchConfig
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.watch_followed import check_followed_something, check_room
from llm_fleet.rules.sagemaker.watch_prefixes import (
    check_others_restart,
    check_prefixes,
    check_watched_clusters,
    check_watched_jobs,
)
from llm_fleet.rules.sagemaker.watch_restart import most_restarts


def check_watch(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the watch of `fleet`, by attribute names."""
    if fleet.watch is not None:
        found = [*check_watch_settings(fleet.watch), *_check_clusters(fleet, fleet.watch), *_check_others(fleet.watch)]
        yield from (problem.under("watch") for problem in found)
        yield from (problem.under("watch") for problem in _check_whole(fleet, fleet.watch))
    yield from check_followed_jobs(fleet)


def _check_clusters(fleet: Fleet, watch: WatchConfig) -> Iterator[Problem]:
    yield from check_watched_clusters(
        watch.clusters or (), hyperpod=list(fleet.hyperpod_clusters), others=list(fleet.parallelclusters)
    )


def _check_others(watch: WatchConfig) -> Iterator[Problem]:
    restarts = most_restarts(watch.restart) != 0
    for name, jobs in watch.others.items():
        found = [*check_watched_jobs(jobs), *check_others_restart(jobs, restarts=restarts)]
        yield from (problem.under("others", name) for problem in found)
    names = list(watch.others)
    for problem in check_prefixes([jobs.prefix for jobs in watch.others.values()], "others"):
        index = problem.path[1]
        yield Problem(
            code=problem.code,
            message=problem.message,
            remedy=problem.remedy,
            value=problem.value,
            path=("others", names[index] if isinstance(index, int) else index, "prefix"),
        )


def _check_whole(fleet: Fleet, watch: WatchConfig) -> Iterator[Problem]:
    followed = [name for name, job in fleet.training_jobs.items() if job.watched]
    prefixes = [*(jobs.prefix for jobs in watch.others.values()), *followed]
    clusters = fleet.hyperpod_clusters if watch.clusters is None else watch.clusters
    yield from check_room(prefixes)
    yield from check_followed_something(jobs=bool(prefixes), clusters=bool(clusters))
