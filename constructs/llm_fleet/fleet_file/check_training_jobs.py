"""The training jobs of a fleet file and the watch over them, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.network import network_of_services
from llm_fleet.fleet_file.sagemaker import FleetChannel, TrainingJobConfig, WatchConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.sagemaker import watch as rules
from llm_fleet.rules.sagemaker.training_job import check_training_job, check_training_job_place
from llm_fleet.rules.sagemaker.watch_followed import (
    check_followed,
    check_followed_something,
    check_room,
    check_watched_clusters,
)
from llm_fleet.rules.values import did_you_mean


def check_training_jobs(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with training jobs of `fleet`, by attribute names."""
    for name, job in fleet.training_jobs.items():
        own = list(_check_places(job, fleet))
        judged = [_job_in_file(problem, job, fleet) for problem in _judged_job(job, fleet)]
        found = [*own, *(problem for problem in judged if not _is_told(problem, own))]
        yield from (problem.under("training_jobs", name) for problem in found)


def _is_told(problem: Problem, own: list[Problem]) -> bool:
    """What is wrong with the place of a channel is told once, in the words of the file."""
    return any(problem.path[:2] == each.path[:2] for each in own if each.path[0] == "channels")


def _judged_job(config: TrainingJobConfig, fleet: Fleet) -> list[Problem]:
    job, has_network = config.in_fleet(fleet.name), fleet.network is not None
    place = check_training_job_place(job, region=fleet.region, has_network=has_network, internet=fleet.way_out)
    return [*check_training_job(job), *place]


def _check_places(job: TrainingJobConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the keys that only a fleet file has."""
    if job.bucket is not None:
        yield from _bucket(job.bucket, fleet, "bucket")
    for name, channel in job.channels.items():
        yield from (problem.under("channels", name) for problem in _channel(channel, fleet))


def _channel(channel: FleetChannel, fleet: Fleet) -> Iterator[Problem]:
    places = {"uri": channel.uri, "bucket": channel.bucket, "fsx": channel.fsx}
    told = [attribute for attribute, place in places.items() if place is not None]
    if len(told) != 1:
        yield Problem(
            code=SageMakerCode.TRAINING_CHANNEL if not told else Code.CONTRADICTION,
            message="a channel has one place" + (", and none is told" if not told else ", and two are told"),
            remedy="write `s3`, `bucket` or `fsx`" if not told else "keep one of them",
            path=(told[1],) if told else (),
        )
    if channel.bucket is not None:
        yield from _bucket(channel.bucket, fleet, "bucket")
    elif channel.prefix is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="a prefix is one of a bucket of the fleet's own",
            remedy="write `bucket` beside it, or all of the place as `s3`",
            path=("prefix",),
            value=channel.prefix,
        )
    if channel.bucket is not None and channel.key_arn is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="the key of the fleet's own bucket is known",
            remedy="leave it out",
            path=("key_arn",),
            value=channel.key_arn,
        )
    if channel.fsx is not None:
        yield from _fsx(channel.fsx, fleet)


def _fsx(folder: str, fleet: Fleet) -> Iterator[Problem]:
    if fleet.storage.fsx is None:
        yield Problem(
            code=Code.UNKNOWN_REFERENCE,
            message="the fleet has no FSx for Lustre",
            remedy="add it, `storage: {fsx: {size: 1200 GiB}}`, or take the data from S3",
            path=("fsx",),
            value=folder,
        )
    elif {"..", "."} & set(folder.split("/")):
        yield Problem(
            code=SageMakerCode.TRAINING_CHANNEL,
            message="a folder of the file system has no `.` or `..` in it",
            remedy="write it from the file system's root, e.g. data/train",
            path=("fsx",),
            value=folder,
        )


def _bucket(name: str, fleet: Fleet, *path: str) -> Iterator[Problem]:
    known = fleet.storage.buckets
    if name not in known:
        yield Problem(
            code=Code.UNKNOWN_REFERENCE,
            message="there is no such bucket under `storage.buckets`",
            remedy=did_you_mean(name, known, otherwise="add it there, or write the place as `s3`"),
            path=path,
            value=name,
            allowed=", ".join(known),
        )


def _job_in_file(problem: Problem, job: TrainingJobConfig, fleet: Fleet) -> Problem:
    """Return a problem that a rule found of `job`, by its attributes in the file."""
    match problem.path:
        case ("channels", str(name), *rest) if name in job.channels:
            channel = job.channels[name]
            return replace(_at_place(problem, channel, fleet), path=("channels", name, *_place(rest, channel)))
        case ("name", *_):
            return replace(problem, remedy=_by_key(problem.remedy, fleet.name))
        case _:
            return problem


def _by_key(remedy: str, fleet: str) -> str:
    """Say of the job's key what `remedy` says of the whole name, which begins with the fleet's."""
    begins = f"'{fleet}-"
    if begins in remedy:
        key = remedy.replace(begins, "'")
        return f"as the job's key, {key}, or shorten the fleet's name"
    return "shorten the fleet's name, which this name begins with"


def _place(rest: list[PathPart], channel: FleetChannel) -> list[PathPart]:
    """A place has another word in the file for each kind of it."""
    words = {"uri": "uri" if channel.bucket is None else "prefix", "file_system_id": "fsx", "directory": "fsx"}
    return [words.get(str(rest[0]), rest[0]), *rest[1:]] if rest else []


def _at_place(problem: Problem, channel: FleetChannel, fleet: Fleet) -> Problem:
    if problem.code is SageMakerCode.NETWORK_NEEDED:
        return replace(
            problem, remedy=f"write `network: {network_of_services(fleet.region)}`, or take the data from S3"
        )
    return replace(problem, value=channel.prefix) if channel.bucket is not None and problem.value else problem


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
        found = list(_check_own_watch(fleet, job))
        if fleet.watch is not None and job.watched and not found:
            found = check_followed(job, fleet.watch, job.watch)
        yield from (_followed_in_file(problem, job).under("training_jobs", name) for problem in found)


def _check_own_watch(fleet: Fleet, job: TrainingJobConfig) -> Iterator[Problem]:
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


def _followed_in_file(problem: Problem, job: TrainingJobConfig) -> Problem:
    """A condition of the fleet's watch is reported of the job that lacks the metric: it may be right for others."""
    if problem.path[:1] != ("conditions",):
        return problem
    if job.watch is not None and job.watch.conditions is not None:
        return problem.under("watch")
    return replace(problem, path=("metrics",))
