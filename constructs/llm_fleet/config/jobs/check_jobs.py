"""The jobs of a fleet file, judged by the rules that judge a `TrainingRun`."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.check_shape_source import check_shape_source
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.jobs.find import find_partition
from llm_fleet.config.jobs.in_words import in_words
from llm_fleet.config.jobs.job import JobConfig
from llm_fleet.config.jobs.served import check_served, served
from llm_fleet.config.jobs.view import view_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.check_run import check_run
from llm_fleet.rules.training.run import Backend, RunLike, TrainingPartition, check_numbers, check_run_name
from llm_fleet.rules.training.run_plan import backend_of
from llm_fleet.rules.training.smp_run import check_smp_place

_OF_CLUSTER = ("training_folder", "environments")
_NOWHERE = TrainingPartition(cluster="", name="", instance_type="", nodes=1)


def check_jobs(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the jobs of `fleet`, by attribute names."""
    for job in fleet.jobs.values():
        yield from (problem.under("jobs", job.name) for problem in _check(job, fleet))


def _check(job: JobConfig, fleet: Fleet) -> Iterator[Problem]:
    own = list(_own(job, fleet))
    yield from own
    found = find_partition(job, fleet)
    if isinstance(found, Problem):
        yield found
        yield from check_run_name(job.name)
        yield from check_numbers(view_of(job, _NOWHERE, None))
        return
    told = {problem.path[:2] for problem in own}
    view = view_of(job, found.partition, None if ("export", "service") in told else served(job, fleet))
    for problem in (*check_run(view), *_region(view, fleet)):
        placed = _in_file(in_words(problem), job)
        if placed.path[:2] not in told and not _is_of_service(problem, job):
            yield placed


def _own(job: JobConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the keys that only a fleet file has."""
    yield from check_served(job, fleet)
    yield from check_shape_source(shape=job.own_shape, config=job.config, unread=job.unread)


def _region(view: RunLike, fleet: Fleet) -> list[Problem]:
    """Return that there is no image of SMP v2 in the fleet's region; which instances have one is told with the run."""
    if backend_of(view) is not Backend.SMP:
        return []
    found = check_smp_place(view.partition.instance_type, fleet.region)
    return [replace(each, path=("backend",)) for each in found if each.path == ("region",)]


def _in_file(problem: Problem, job: JobConfig) -> Problem:
    """Return a problem where the file has it."""
    path = problem.path
    if path[:1] == ("partition",):
        of_cluster = path[-1] in _OF_CLUSTER or job.partition is None
        return replace(problem, path=("cluster",) if of_cluster else ("partition",), value=None)
    if path == ("export", "to") and job.export is not None and job.export.service is not None:
        return replace(problem, path=("export", "service"))
    if path[:1] == ("shape",):
        return replace(problem, path=("own_shape", *path[1:]) if job.own_shape is not None else ("config",))
    if problem.code is Code.MODEL_SHAPE_UNKNOWN and job.config is not None:
        return replace(problem, path=("config",))
    return problem


def _is_of_service(problem: Problem, job: JobConfig) -> bool:
    """Whether `problem` is one of a service's server, which is told there."""
    by_service = job.export is not None and job.export.service is not None
    own = (("export", "to"), ("export", "environment"))
    return by_service and problem.path[:1] == ("export",) and problem.path not in own
