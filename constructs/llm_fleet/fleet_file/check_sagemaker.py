"""Checks of the SageMaker parts of a fleet file, with the same rules as the constructs."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from llm_fleet.fleet_file.check_storage import check_no_own_key, check_own_bucket
from llm_fleet.fleet_file.fleet import Fleet, network_of_services
from llm_fleet.fleet_file.sagemaker import (
    EndpointConfig,
    FleetChannel,
    FleetEndpointModel,
    IdsOnClusters,
    NotebookConfig,
    StudioConfig,
    TrainingJobConfig,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_tags
from llm_fleet.rules.inference.model import check_one_place
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved
from llm_fleet.rules.sagemaker.endpoint import check_endpoint
from llm_fleet.rules.sagemaker.endpoint_model import PLACES
from llm_fleet.rules.sagemaker.notebook import check_notebook, check_reached_names, is_code_commit
from llm_fleet.rules.sagemaker.studio import check_same_ids, check_studio_place, studio_zones
from llm_fleet.rules.sagemaker.studio import check_studio as check_domain
from llm_fleet.rules.sagemaker.training_job import check_training_job, check_training_job_place
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.values import did_you_mean


def check_bucket_keys(keys: Sequence[str], *, known: Collection[str]) -> Iterator[Problem]:
    """Return each of `keys` that is not in `storage.buckets` or that is repeated, below `bucket_keys`."""
    for index, key in enumerate(keys):
        if key in keys[:index]:
            yield Problem(
                code=Code.CONTRADICTION,
                message="this bucket is already in the list",
                remedy="remove it here",
                path=("bucket_keys", index),
                value=key,
            )
        elif key not in known:
            yield Problem(
                code=Code.UNKNOWN_REFERENCE,
                message="unknown bucket: it is not under `storage.buckets`",
                remedy=did_you_mean(key, known, otherwise=f"write `buckets: {{{key}: {{}}}}` below `storage`"),
                path=("bucket_keys", index),
                value=key,
                allowed=", ".join(sorted(known)),
            )


_OF_NOTEBOOKS = (
    ("set internet=True to allow", "write `internet: true` to allow"),
    ("set `network`, in which", "write a `network`, in which"),
    ("or None for an instance that is never stopped", "or `never`"),
)
"""Texts of remedies for Python, and those for a fleet file."""
_GIT_ENDPOINT = "git-codecommit"


def check_notebooks(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the notebooks of `fleet`, by attribute names."""
    has_network, internet = fleet.network is not None, fleet.way_out
    for name, notebook in fleet.notebooks.items():
        checked = check_notebook(notebook.in_fleet(fleet.name), has_network=has_network, network_internet=internet)
        found = [
            *map(_notebook_in_file, checked),
            *check_bucket_keys(notebook.bucket_keys, known=fleet.storage.buckets),
            *_check_code_commit(notebook, fleet),
            *check_reached_names(notebook.clusters, known=fleet.clusters),
            *check_tags(notebook.tags),
        ]
        yield from (problem.under("notebooks", name) for problem in found)


def _notebook_in_file(problem: Problem) -> Problem:
    remedy = problem.remedy
    for ours, theirs in _OF_NOTEBOOKS:
        remedy = remedy.replace(ours, theirs)
    path = () if problem.path == ("name",) else problem.path
    return replace(problem, remedy=remedy, path=path)


def _check_code_commit(notebook: NotebookConfig, fleet: Fleet) -> Iterator[Problem]:
    """Without internet access, CodeCommit needs an endpoint that nothing else needs."""
    network = fleet.network
    closed = fleet.way_out is InternetAccess.NONE
    if network is None or not closed or _GIT_ENDPOINT in network.endpoints:
        return
    for index, repository in enumerate(notebook.repositories):
        if is_code_commit(repository.url):
            yield Problem(
                code=SageMakerCode.NOTEBOOK_REPOSITORY,
                message="the network has no internet access and no endpoint for CodeCommit repositories",
                remedy=f"write `endpoints: [{_GIT_ENDPOINT}]` below `network`",
                path=("repositories", index, "url"),
                value=repository.url,
            )
            return


_STUDIO_KEYS = {"lustre": "mount_fsx"}
"""Attributes of the file, by those of the construct."""
_OF_STUDIO = (
    ("set `network`", "write a `network` instead of `none`"),
    ("or remove the file system", "or write `fsx: false`"),
    ("give the domain a network", "write a `network`"),
)
"""Texts of remedies for Python, and those for a fleet file."""


def check_studio(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in Studio of `fleet`, by attribute names."""
    config = fleet.studio
    if config is None or is_unresolved(config):
        return
    ids = ids_on_clusters(fleet, config)
    studio, network = config.in_fleet(fleet.name, ids), fleet.network
    found = [
        *check_domain(studio),
        *check_studio_place(
            studio,
            has_network=network is not None,
            network_internet=fleet.way_out,
            zones=network.zones if network is not None else (),
            mounts_lustre=_mounts_lustre(fleet, config),
            lustre_zone=_lustre_zone(fleet, config),
        ),
        *(problem.under("users") for problem in check_same_ids(studio.users, ids)),
        *check_reached_names(config.clusters, known=fleet.clusters),
        *check_bucket_keys(config.bucket_keys, known=fleet.storage.buckets),
        *_check_directory(config, mounts_lustre=_mounts_lustre(fleet, config)),
        *check_tags(config.tags),
    ]
    yield from (_studio_in_file(problem).under("studio") for problem in found)


def zones_of_studio(fleet: Fleet, config: StudioConfig) -> tuple[str, ...]:
    """Return the AZ ids of the domain's subnets."""
    zones = fleet.network.zones if fleet.network is not None else ()
    return studio_zones(zones, _lustre_zone(fleet, config))


def ids_on_clusters(fleet: Fleet, config: StudioConfig) -> IdsOnClusters:
    """Return the user and group ids on the clusters that Studio can connect to, by cluster and name."""
    reached = {name: fleet.clusters[name] for name in config.clusters if name in fleet.clusters}
    return {
        name: {who.name: (who.uid, who.uid if who.gid is None else who.gid) for who in cluster.people.values()}
        for name, cluster in reached.items()
    }


def _mounts_lustre(fleet: Fleet, config: StudioConfig) -> bool:
    """Return whether there is a file system and Studio mounts it."""
    return config.mount_fsx and fleet.storage.fsx is not None


def _lustre_zone(fleet: Fleet, config: StudioConfig) -> str | None:
    """Return the AZ of the file system; `None` without one, or if the file does not set it."""
    return fleet.zone_of_fsx if _mounts_lustre(fleet, config) else None


def _check_directory(config: StudioConfig, *, mounts_lustre: bool) -> Iterator[Problem]:
    if "lustre_directory" in config.model_fields_set and not mounts_lustre:
        yield Problem(
            code=Code.CONTRADICTION,
            message="this setting has no effect: Studio mounts no FSx for Lustre file system",
            remedy="remove it, or add `storage.fsx`" if config.mount_fsx else "remove it, or remove `fsx: false`",
            path=("lustre_directory",),
            value=config.lustre_directory,
        )


def _studio_in_file(problem: Problem) -> Problem:
    remedy = problem.remedy
    for ours, theirs in _OF_STUDIO:
        remedy = remedy.replace(ours, theirs)
    path = (
        ()
        if problem.path == ("network",)
        else (_STUDIO_KEYS.get(str(problem.path[0]), problem.path[0]), *problem.path[1:])
    )
    return replace(problem, path=path, remedy=remedy)


def check_endpoints(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the endpoints of `fleet`, by attribute names."""
    for name, endpoint in fleet.endpoints.items():
        of_place = [*_check_place(endpoint.model, fleet)]
        checked = _checked_endpoint(endpoint, fleet)
        if of_place:  # Without a valid location nothing else can be checked.
            checked = [problem for problem in checked if problem.path[:1] != ("model",)]
        found = [
            *(problem.under("model") for problem in of_place),
            *(_endpoint_in_file(problem, endpoint) for problem in checked),
            *_check_network(endpoint, fleet),
            *check_tags(endpoint.tags),
        ]
        yield from (problem.under("endpoints", name) for problem in found)


def _checked_endpoint(endpoint: EndpointConfig, fleet: Fleet) -> list[Problem]:
    network = fleet.network
    return check_endpoint(
        endpoint.in_fleet(fleet.name),
        region=fleet.region,
        # The file does not contain the internet access of an existing network.
        internet=fleet.way_out,
        in_network=endpoint.is_in_network(fleet_has_one=network is not None),
        has_topic=endpoint.alarms.topic_arn is not None,
    )


def _endpoint_in_file(problem: Problem, endpoint: EndpointConfig) -> Problem:
    """Return `problem` with the path and the keys of the file."""
    path = () if problem.path == ("name",) else problem.path
    if endpoint.model.bucket is not None and path in (("model", "s3_uri"), ("model", "tarball_uri")):
        path = ("model", "key")
    return replace(problem, path=path)


def _check_network(endpoint: EndpointConfig, fleet: Fleet) -> Iterator[Problem]:
    if endpoint.in_network is True and fleet.network is None:
        yield Problem(
            code=SageMakerCode.NETWORK_NEEDED,
            path=("in_network",),
            message="`network` is true, but the fleet has no network",
            value=True,
            remedy=f"write `network: {network_of_services(fleet.region)}` at the top level, or remove it here",
        )


def _check_place(model: FleetEndpointModel, fleet: Fleet) -> Iterator[Problem]:
    remedy = "add it, e.g. `hub: EleutherAI/gpt-j-6b`"
    places = check_one_place(model, (*PLACES, "bucket"), remedy=remedy, in_file=True)
    yield from places
    if places and places[0].code is Code.MISSING_KEY:
        return
    yield from check_own_bucket(model.bucket, fleet, "bucket", otherwise="`s3: s3://<bucket>/<folder>/`")
    if (model.key is None) != (model.bucket is None):
        yield Problem(
            code=Code.CONTRADICTION,
            message="`key` is a folder or archive in `bucket`: both are required together",
            remedy="write both, or the whole S3 URI as `s3` or `tarball`",
            path=("key",) if model.key is not None else ("bucket",),
            value=model.key or model.bucket,
        )
    yield from check_no_own_key(model.key_arn, model.bucket)


def check_training_jobs(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the training jobs of `fleet`, by attribute names."""
    for name, job in fleet.training_jobs.items():
        own = list(_check_places(job, fleet))
        checked = [_job_in_file(problem, job, fleet) for problem in _checked_job(job, fleet)]
        found = [*own, *(problem for problem in checked if not _is_reported(problem, own))]
        yield from (problem.under("training_jobs", name) for problem in found)


def _is_reported(problem: Problem, own: list[Problem]) -> bool:
    """Errors in the location of a channel are reported once, with the keys of the file."""
    return any(problem.path[:2] == each.path[:2] for each in own if each.path[0] == "channels")


def _checked_job(config: TrainingJobConfig, fleet: Fleet) -> list[Problem]:
    job, has_network = config.in_fleet(fleet.name), fleet.network is not None
    place = check_training_job_place(job, region=fleet.region, has_network=has_network, internet=fleet.way_out)
    return [*check_training_job(job), *place]


def _check_places(job: TrainingJobConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the keys that only a fleet file has."""
    if job.bucket is not None:
        yield from _bucket(job.bucket, fleet, "bucket")
    for name, channel in job.channels.items():
        yield from (problem.under("channels", name) for problem in _channel(channel, fleet))


def _channel(channel: FleetChannel, fleet: Fleet) -> Iterator[Problem]:
    places = {"uri": channel.uri, "bucket": channel.bucket, "fsx": channel.fsx}
    places_set = [attribute for attribute, place in places.items() if place is not None]
    if len(places_set) != 1:
        yield Problem(
            code=SageMakerCode.TRAINING_CHANNEL if not places_set else Code.CONTRADICTION,
            message="set only one of `s3`, `bucket` and `fsx`" if places_set else "`s3`, `bucket` or `fsx` is required",
            remedy="keep one of them" if places_set else "write `s3`, `bucket` or `fsx`",
            path=(places_set[1],) if places_set else (),
        )
    if channel.bucket is not None:
        yield from _bucket(channel.bucket, fleet, "bucket")
    elif channel.prefix is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="`prefix` requires `bucket`",
            remedy="add `bucket`, or write the whole S3 URI as `s3`",
            path=("prefix",),
            value=channel.prefix,
        )
    yield from check_no_own_key(channel.key_arn, channel.bucket)
    if channel.fsx is not None:
        yield from _fsx(channel.fsx, fleet)


def _fsx(folder: str, fleet: Fleet) -> Iterator[Problem]:
    if fleet.storage.fsx is None:
        yield Problem(
            code=Code.UNKNOWN_REFERENCE,
            message="the fleet has no FSx for Lustre file system",
            remedy="add it, `storage: {fsx: {size: 1200 GiB}}`, or read the data from S3",
            path=("fsx",),
            value=folder,
        )
    elif {"..", "."} & set(folder.split("/")):
        yield Problem(
            code=SageMakerCode.TRAINING_CHANNEL,
            message="a folder of the file system must not contain `.` or `..`",
            remedy="write the folder relative to the root of the file system, e.g. data/train",
            path=("fsx",),
            value=folder,
        )


def _bucket(name: str, fleet: Fleet, *path: str) -> Iterator[Problem]:
    known = fleet.storage.buckets
    if name not in known:
        yield Problem(
            code=Code.UNKNOWN_REFERENCE,
            message="unknown bucket: it is not under `storage.buckets`",
            remedy=did_you_mean(name, known, otherwise="add it there, or write an S3 URI as `s3`"),
            path=path,
            value=name,
            allowed=", ".join(known),
        )


def _job_in_file(problem: Problem, job: TrainingJobConfig, fleet: Fleet) -> Problem:
    """Return a problem of `job` by its attributes in the file."""
    match problem.path:
        case ("channels", str(name), *rest) if name in job.channels:
            channel = job.channels[name]
            return replace(_at_place(problem, channel, fleet), path=("channels", name, *_place(rest, channel)))
        case ("name", *_):
            return replace(problem, remedy=_by_key(problem.remedy, fleet.name))
        case _:
            return problem


def _by_key(remedy: str, fleet: str) -> str:
    """Return `remedy` for the job's key instead of the whole name, which begins with the fleet's name."""
    begins = f"`{fleet}-"
    if begins in remedy:
        key = remedy.replace(begins, "`")
        return f"as the job's key, {key}, or shorten the fleet's name"
    return "shorten the fleet's name, with which this name begins"


def _place(rest: list[PathPart], channel: FleetChannel) -> list[PathPart]:
    """The key of a location depends on its kind in the file."""
    words = {"uri": "uri" if channel.bucket is None else "prefix", "file_system_id": "fsx", "directory": "fsx"}
    return [words.get(str(rest[0]), rest[0]), *rest[1:]] if rest else []


def _at_place(problem: Problem, channel: FleetChannel, fleet: Fleet) -> Problem:
    if problem.code is SageMakerCode.NETWORK_NEEDED:
        return replace(
            problem, remedy=f"write `network: {network_of_services(fleet.region)}`, or read the data from S3"
        )
    return replace(problem, value=channel.prefix) if channel.bucket is not None and problem.value else problem
