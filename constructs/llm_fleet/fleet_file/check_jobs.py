"""Checks of the jobs of a fleet file, with the rules of `TrainingRun`, and the partitions that they run on."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from llm_fleet.fleet_file.check_nodes import training_place_of
from llm_fleet.fleet_file.check_service import check_shape_source
from llm_fleet.fleet_file.clusters import HyperPodConfig, NodeSetupModel, ParallelClusterConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.jobs import JobConfig, JobExportConfig
from llm_fleet.fleet_file.service import ServiceConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.training.check_run import check_run
from llm_fleet.rules.training.environment_place import TrainingPlace, folder_of
from llm_fleet.rules.training.packages import PlannedEnvironment, plan
from llm_fleet.rules.training.run import check_numbers, check_run_name
from llm_fleet.rules.training.run_plan import backend_of
from llm_fleet.rules.training.smp_run import check_smp_place
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.jobs import Backend, PlacedRun, ServedExport, TrainingPartition
from llm_fleet.spec.model_shape import ModelShape, ModelSource
from llm_fleet.spec.training_runtime import EnvironmentUse, ServerEnvironment

_S3 = "s3://"
Cluster = HyperPodConfig | ParallelClusterConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nodes:
    """Nodes of one group or queue."""

    partition: str
    group: str
    instance_types: Sequence[str]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A partition of the fleet file."""

    name: str
    instance_types: tuple[str, ...]
    """Instance types that its nodes may have; a run needs exactly one."""
    partition: TrainingPartition
    """With the properties of the first instance type."""


def partitions_of(fleet: Fleet, cluster: Cluster) -> list[Found]:
    """Return the partitions of `cluster` that run jobs, in the order of the file."""
    place = training_place_of(fleet, cluster)
    of_all = _of_all(fleet, cluster, place)
    nodes = list(_nodes(cluster))
    return [
        _found(name, [each for each in nodes if each.partition == name], cluster, place, of_all)
        for name in dict.fromkeys(each.partition for each in nodes)
    ]


def _nodes(cluster: Cluster) -> Iterator[_Nodes]:
    if isinstance(cluster, HyperPodConfig):
        for group in cluster.groups:
            if group.node_type is NodeType.COMPUTE and group.partition is not None:
                types = group.types
                yield _Nodes(partition=group.partition, group=group.name, instance_types=types, count=group.count)
        return
    for queue in cluster.queues:
        for resource in queue.compute_resources:
            yield _Nodes(
                partition=queue.name,
                group=queue.name,
                instance_types=tuple(resource.types),
                count=resource.max_count,
            )


def _found(name: str, nodes: list[_Nodes], cluster: Cluster, place: TrainingPlace, of_all: TrainingPartition) -> Found:
    types = tuple(dict.fromkeys(each for part in nodes for each in part.instance_types))
    groups = [part.group for part in nodes]
    processes = [] if cluster.training is None else [cluster.training.processes.get(group) for group in groups]
    return Found(
        name=name,
        instance_types=types,
        partition=replace(
            of_all,
            name=name,
            instance_type=next(iter(types), ""),
            nodes=sum(part.count for part in nodes),
            processes=next(iter(processes), None),
            environments=_names(_environments(cluster, groups, place)),
            exports_for=_exports_for(cluster, groups, place),
        ),
    )


def _of_all(fleet: Fleet, cluster: Cluster, place: TrainingPlace) -> TrainingPartition:
    """Return the properties that all partitions of a cluster share."""
    training = cluster.training
    folder = None if training is None else folder_of(training, place)
    return TrainingPartition(
        cluster=cluster.cluster_name,
        name="",
        instance_type="",
        nodes=0,
        training_folder=folder,
        shared_mounts=tuple(each.path for each in place.shared),
        file_system_gib=_size(fleet, folder),
        hub_token_secret_arn=None if training is None else training.hub_token_secret_arn,
        reads=_buckets(fleet, cluster.reads),
        writes=_buckets(fleet, cluster.writes),
    )


def _environments(cluster: NodeSetupModel, groups: list[str], place: TrainingPlace) -> Mapping[str, PlannedEnvironment]:
    """Return, by name, the environments that all of `groups` have."""
    if cluster.training is None:
        return {}
    planned = {str(each.name): plan(each, place) for each in cluster.training.environments}
    return {name: each for name, each in planned.items() if all(group in each.groups for group in groups)}


def _names(environments: Mapping[str, PlannedEnvironment]) -> tuple[str, ...]:
    """Return the names; none if all are for exports, so that a run cannot start."""
    return tuple(environments) if any(each.use == EnvironmentUse.JOBS for each in environments.values()) else ()


def _exports_for(cluster: NodeSetupModel, groups: list[str], place: TrainingPlace) -> tuple[str, ...] | None:
    """Return the server whose image is used for exports; `None` if another environment is used, which is unknown."""
    found = [each for each in _environments(cluster, groups, place).values() if each.use == EnvironmentUse.EXPORT]
    known = tuple(each.given.server_kind.value for each in found if isinstance(each.given, ServerEnvironment))
    return known if len(known) == len(found) else None


def _size(fleet: Fleet, folder: str | None) -> int | None:
    fsx = fleet.storage.fsx
    if fsx is None or folder is None or not folder.startswith(f"{fsx.mount_path.rstrip('/')}/"):
        return None
    return fsx.storage_capacity_gib


def _buckets(fleet: Fleet, names: Sequence[str]) -> tuple[str, ...]:
    """Return the buckets by their names in S3; jobs cannot use buckets whose name CloudFormation generates."""
    own = {name: bucket.bucket_name for name, bucket in fleet.storage.buckets.items()}
    known = [name.removeprefix(_S3).rstrip("/") if name.startswith(_S3) else own.get(name) for name in names]
    return tuple(name for name in known if name is not None)


def find_partition(job: JobConfig, fleet: Fleet) -> Found | Problem:
    """Return where `job` runs, or why that cannot be decided, by its attribute names."""
    cluster = find_cluster(job, fleet)
    if isinstance(cluster, Problem):
        return cluster
    found = partitions_of(fleet, cluster)
    if not found:
        return _wrong(f"the cluster {cluster.cluster_name} has no nodes that run jobs", "add compute nodes to it", job)
    names = [each.name for each in found]
    if job.partition is None:
        return _usable(found[0], job) if len(found) == 1 else _several(names, cluster, job)
    chosen = next((each for each in found if each.name == job.partition), None)
    return _unknown(job.partition, names, cluster) if chosen is None else _usable(chosen, job)


def find_cluster(job: JobConfig, fleet: Fleet) -> Cluster | Problem:
    """Return the cluster of `job`: the one that it names, or the only one."""
    names = list(fleet.clusters)
    if job.cluster is None:
        if len(names) == 1:
            return fleet.clusters[names[0]]
        said = f"there are {len(names)} clusters, so `cluster` is required" if names else "the fleet has no cluster"
        return Problem(
            code=Code.MISSING_KEY,
            message=said,
            remedy=f"add `cluster: {names[0]}`, or another cluster" if names else "add a cluster under `clusters`",
            path=("cluster",),
            allowed=", ".join(names),
        )
    if job.cluster in names:
        return fleet.clusters[job.cluster]
    return Problem(
        code=Code.UNKNOWN_REFERENCE,
        message=f"unknown cluster {job.cluster!r}: it is not under `clusters`",
        remedy=did_you_mean(job.cluster, names, otherwise=f"write `{names[0]}`" if names else "add it there"),
        path=("cluster",),
        value=job.cluster,
        allowed=", ".join(names),
    )


def _usable(found: Found, job: JobConfig) -> Found | Problem:
    if len(found.instance_types) == 1:
        return found
    types = ", ".join(found.instance_types)
    return _wrong(
        f"the nodes of {found.name} can have several instance types ({types}), but a job needs one",
        "choose a partition with one instance type",
        job,
    )


def _several(names: list[str], cluster: Cluster, job: JobConfig) -> Problem:
    return _wrong(
        f"the cluster {cluster.cluster_name} has several partitions, so `partition` is required",
        f"add `partition: {names[0]}`, or another partition",
        job,
        allowed=", ".join(names),
    )


def _unknown(partition: str, names: list[str], cluster: Cluster) -> Problem:
    group = cluster.by_name.get(partition) if isinstance(cluster, HyperPodConfig) else None
    what = "partition" if isinstance(cluster, HyperPodConfig) else "queue"
    message = f"the cluster {cluster.cluster_name} has no {what} {partition!r}"
    remedy = did_you_mean(partition, names, otherwise=f"write `{names[0]}`")
    if group is not None:
        message = f"{partition!r} is a group of role {group.node_type.lower()}, not a partition"
        remedy = f"write `{group.partition or names[0]}`"
    return Problem(
        code=Code.JOB_PARTITION if group is not None else Code.UNKNOWN_REFERENCE,
        message=message,
        remedy=remedy,
        path=("partition",),
        value=partition,
        allowed=", ".join(names),
    )


def _wrong(message: str, remedy: str, job: JobConfig, *, allowed: str = "") -> Problem:
    return Problem(
        code=Code.JOB_PARTITION,
        message=message,
        remedy=remedy,
        path=("partition",) if job.partition is not None or allowed else ("cluster",),
        value=job.partition,
        allowed=allowed,
    )


_OF_CLUSTER = ("training_folder", "environments")
_NOWHERE = TrainingPartition(cluster="", name="", instance_type="", nodes=1)


def check_jobs(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the jobs of `fleet`, by attribute names."""
    for job in fleet.jobs.values():
        yield from (problem.under("jobs", job.name) for problem in _check(job, fleet))


def _check(job: JobConfig, fleet: Fleet) -> Iterator[Problem]:
    own = list(_own(job, fleet))
    yield from own
    found = find_partition(job, fleet)
    if isinstance(found, Problem):
        yield found
        yield from check_run_name(job.name)
        yield from check_numbers(job.placed(_NOWHERE, export=None))
        return
    own_paths = {problem.path[:2] for problem in own}
    run = job.placed(found.partition, export=None if ("export", "service") in own_paths else served(job, fleet))
    for problem in (*check_run(run), *_region(run, fleet)):
        placed = _in_file(_in_words(problem), job)
        if placed.path[:2] not in own_paths and not _is_of_service(problem, job):
            yield placed


def _own(job: JobConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the keys that only a fleet file has."""
    yield from check_served(job, fleet)
    yield from check_shape_source(shape=job.shape, config=job.config, unread=job.unread)


def _region(run: PlacedRun, fleet: Fleet) -> list[Problem]:
    """Return the error that SMP v2 has no image in the fleet's region; supported instance types are checked with the
    run."""
    if backend_of(run) is not Backend.SMP:
        return []
    found = check_smp_place(run.partition.instance_type, fleet.region)
    return [replace(each, path=("backend",)) for each in found if each.path == ("region",)]


def _in_file(problem: Problem, job: JobConfig) -> Problem:
    """Return a problem with its path in the file."""
    path = problem.path
    if path[:1] == ("partition",):
        of_cluster = path[-1] in _OF_CLUSTER or job.partition is None
        return replace(problem, path=("cluster",) if of_cluster else ("partition",), value=None)
    if path == ("export", "to") and job.export is not None and job.export.service is not None:
        return replace(problem, path=("export", "service"))
    if path[:1] == ("shape",):
        return replace(problem, path=path if job.shape is not None else ("config",))
    if problem.code is Code.MODEL_SHAPE_UNKNOWN and job.config is not None:
        return replace(problem, path=("config",))
    return problem


def _is_of_service(problem: Problem, job: JobConfig) -> bool:
    """Whether `problem` is about a service's server, where it is reported."""
    by_service = job.export is not None and job.export.service is not None
    own = (("export", "to"), ("export", "environment"))
    return by_service and problem.path[:1] == ("export",) and problem.path not in own


_WRITTEN = (
    (re.compile(r"; in Python .*$"), ""),
    (
        re.compile(r"shape=TrainedShape\(…\) with the numbers from the model's config\.json"),
        "`shape: {parameters: 8 B, …}` with the numbers from the model's config.json, or `config:` with its path",
    ),
    (re.compile(r"\bkeep=(\d+)\b"), r"`checkpoint: {keep: \1}`"),
    (re.compile(r"\b(\w+)='([^']*)'"), r"`\1: \2`"),
    (re.compile(r"\b(\w+)=(\d+)\b"), r"`\1: \2`"),
    (re.compile(r"\bremove (smp|[a-z]+_\w+)\b"), r"remove `\1`"),
    (re.compile(r": `training:` in a fleet file, TrainingRuntime in Python"), ": `training: {environments: {…}}`"),
)


def _in_words(problem: Problem) -> Problem:
    """Return `problem` with the file's keys and values in its remedy."""
    text = problem.remedy
    for pattern, words in _WRITTEN:
        text = pattern.sub(words, text)
    return replace(problem, remedy=text)


_SIZES = ("server", "instance_type", "tensor_parallel", "batch_size", "sequence_length")
_SHAPE = ("parameters", "layers", "attention_heads", "kv_heads", "head_dim")


def served(job: JobConfig, fleet: Fleet) -> ServedExport | None:
    """Return the export of `job`; `None` without one, and for an export with errors that `check_served` reports."""
    export = job.export
    if export is None:
        return None
    if export.service is None:
        return None if export.to is None else export.narrowed(ServedExport)
    service = fleet.services.get(export.service)
    place = None if service is None else place_of(service, fleet)
    if service is None or place is None:
        return None
    server = service.server
    return export.narrowed(
        ServedExport,
        to=place,
        server=server.kind,
        instance_type=service.instance_type,
        tensor_parallel=server.tensor_parallel,
        batch_size=server.batch_size,
        sequence_length=server.sequence_length,
    )


def place_of(service: ServiceConfig, fleet: Fleet) -> str | None:
    """Return where in S3 `service` loads its model from; `None` for another location or an unknown bucket name."""
    model = service.model
    if model.source is not ModelSource.S3:
        return None
    if model.bucket is None:
        return model.location
    found = model.own_bucket(fleet.storage.buckets)
    name = None if found is None else fleet.storage.buckets[found[0]].bucket_name
    return None if name is None else f"s3://{name}/{model.prefix or ''}".rstrip("/")


def check_served(job: JobConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in an export that only a fleet file can have, by attribute names of the job."""
    export = job.export
    if export is None:
        return
    if export.service is None:
        if export.to is None:
            yield _wrong_export("`service` or `to` is required", "add `service: <name>`, or `to: s3://…`")
        return
    without_effect = [name for name in ("to", *_SIZES) if name in export.model_fields_set]
    for name in without_effect:
        yield Problem(
            code=Code.CONTRADICTION,
            message="this setting has no effect: `service` already sets the server, sizes and location",
            remedy=f"leave `{JobExportConfig.key_of(name)}` out",
            path=("export", name),
            value=getattr(export, name),
        )
    service = fleet.services.get(export.service)
    yield from _unknown_service(export.service, fleet) if service is None else _service(service, job, fleet)


def _unknown_service(name: str, fleet: Fleet) -> Iterator[Problem]:
    names = list(fleet.services)
    yield Problem(
        code=Code.UNKNOWN_REFERENCE,
        message=f"unknown service {name!r}: it is not under `services`",
        remedy=did_you_mean(name, names, otherwise="add it there, or write `to: s3://…` instead"),
        path=("export", "service"),
        value=name,
        allowed=", ".join(names),
    )


def _service(service: ServiceConfig, job: JobConfig, fleet: Fleet) -> Iterator[Problem]:
    model = service.model
    if model.source is not ModelSource.S3:
        yield _wrong_export(
            f"the service {service.name} loads its model from {model.location}, but a job exports to S3",
            f"write `model: s3://…` of the service {service.name}",
            service.name,
        )
    elif model.bucket is not None and model.bucket in fleet.storage.buckets and place_of(service, fleet) is None:
        yield _wrong_export(
            f"CloudFormation generates the name of the bucket {model.bucket}, but a job needs to know it",
            f"set its name: `{model.bucket}: {{name: …}}` under `storage.buckets`",
            service.name,
        )
    mine, theirs = job.known_shape, model.size
    if mine is not None and theirs is not None and not _same(mine, theirs):
        yield _wrong_export(
            f"the service {service.name} is for a different model, with {theirs.parameters:,} parameters, "
            f"{theirs.layers} layers and {theirs.attention_heads} heads; the job trains one with {mine.parameters:,}, "
            f"{mine.layers} and {mine.attention_heads}",
            f"set the sizes of the trained model: `model: {{…, shape: …}}` of {service.name}",
            service.name,
        )


def _same(mine: ModelShape, theirs: ModelShape) -> bool:
    return all(getattr(mine, name) == getattr(theirs, name) for name in _SHAPE)


def _wrong_export(message: str, remedy: str, service: str | None = None) -> Problem:
    path = ("export",) if service is None else ("export", "service")
    return Problem(code=Code.JOB_EXPORT, message=message, remedy=remedy, path=path, value=service)
