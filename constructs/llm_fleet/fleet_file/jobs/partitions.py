"""The partitions of a fleet's clusters as training runs see them, and which of them a job runs on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from llm_fleet.fleet_file.check_training import training_place_of
from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.jobs.job import JobConfig
from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.fleet_file.parallelcluster import ParallelClusterConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.training.environment_place import TrainingPlace, folder_of
from llm_fleet.rules.training.packages import PlannedEnvironment, plan
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.jobs import TrainingPartition
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
    """A partition as the file has it."""

    name: str
    instance_types: tuple[str, ...]
    """Those that its nodes may be of; a run wants one."""
    partition: TrainingPartition
    """By the first of them."""


def partitions_of(fleet: Fleet, cluster: Cluster) -> list[Found]:
    """Return the partitions of `cluster` that jobs run on, in the order of the file."""
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
    """Return what all partitions of a cluster have in common."""
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
    """Return by name what all of `groups` have."""
    if cluster.training is None:
        return {}
    planned = {str(each.name): plan(each, place) for each in cluster.training.environments}
    return {name: each for name, each in planned.items() if all(group in each.groups for group in groups)}


def _names(environments: Mapping[str, PlannedEnvironment]) -> tuple[str, ...]:
    """Return the names; none where all are for exports, so that a run cannot begin."""
    return tuple(environments) if any(each.use == EnvironmentUse.JOBS for each in environments.values()) else ()


def _exports_for(cluster: NodeSetupModel, groups: list[str], place: TrainingPlace) -> tuple[str, ...] | None:
    """Return the server whose image is for exports; `None` where another environment is, of which nobody knows."""
    found = [each for each in _environments(cluster, groups, place).values() if each.use == EnvironmentUse.EXPORT]
    known = tuple(each.given.server_kind.value for each in found if isinstance(each.given, ServerEnvironment))
    return known if len(known) == len(found) else None


def _size(fleet: Fleet, folder: str | None) -> int | None:
    fsx = fleet.storage.fsx
    if fsx is None or folder is None or not folder.startswith(f"{fsx.mount_path.rstrip('/')}/"):
        return None
    return fsx.storage_capacity_gib


def _buckets(fleet: Fleet, names: Sequence[str]) -> tuple[str, ...]:
    """Return the buckets as S3 knows them; those that CloudFormation names cannot be named by a job either."""
    own = {name: bucket.bucket_name for name, bucket in fleet.storage.buckets.items()}
    known = [name.removeprefix(_S3).rstrip("/") if name.startswith(_S3) else own.get(name) for name in names]
    return tuple(name for name in known if name is not None)


def find_partition(job: JobConfig, fleet: Fleet) -> Found | Problem:
    """Return where `job` runs, or why that is not known, by its attribute names."""
    cluster = find_cluster(job, fleet)
    if isinstance(cluster, Problem):
        return cluster
    found = partitions_of(fleet, cluster)
    if not found:
        return _wrong(f"the cluster {cluster.cluster_name} has no nodes that run jobs", "give it some", job)
    names = [each.name for each in found]
    if job.partition is None:
        return _usable(found[0], job) if len(found) == 1 else _several(names, cluster, job)
    chosen = next((each for each in found if each.name == job.partition), None)
    return _unknown(job.partition, names, cluster) if chosen is None else _usable(chosen, job)


def find_cluster(job: JobConfig, fleet: Fleet) -> Cluster | Problem:
    """Return the cluster that `job` names, or the only one."""
    names = list(fleet.clusters)
    if job.cluster is None:
        if len(names) == 1:
            return fleet.clusters[names[0]]
        said = f"there are {len(names)} clusters, and nobody told on which" if names else "there is no cluster for it"
        return Problem(
            code=Code.MISSING_KEY,
            message=said,
            remedy=f"add `cluster: {names[0]}`, or another one" if names else "add one under `clusters`",
            path=("cluster",),
            allowed=", ".join(names),
        )
    if job.cluster in names:
        return fleet.clusters[job.cluster]
    return Problem(
        code=Code.UNKNOWN_REFERENCE,
        message=f"there is no cluster {job.cluster!r} under `clusters`",
        remedy=did_you_mean(job.cluster, names, otherwise=f"write {names[0]!r}" if names else "add it there"),
        path=("cluster",),
        value=job.cluster,
        allowed=", ".join(names),
    )


def _usable(found: Found, job: JobConfig) -> Found | Problem:
    if len(found.instance_types) == 1:
        return found
    types = ", ".join(found.instance_types)
    return _wrong(
        f"the nodes of {found.name} may be of several types ({types}), and nobody can say what fits all of them",
        "take a partition of one instance type",
        job,
    )


def _several(names: list[str], cluster: Cluster, job: JobConfig) -> Problem:
    return _wrong(
        f"the cluster {cluster.cluster_name} has several partitions, and nobody told which",
        f"add `partition: {names[0]}`, or another one",
        job,
        allowed=", ".join(names),
    )


def _unknown(partition: str, names: list[str], cluster: Cluster) -> Problem:
    group = cluster.by_name.get(partition) if isinstance(cluster, HyperPodConfig) else None
    what = "partition" if isinstance(cluster, HyperPodConfig) else "queue"
    message = f"the cluster {cluster.cluster_name} has no {what} {partition!r}"
    remedy = did_you_mean(partition, names, otherwise=f"write {names[0]!r}")
    if group is not None:
        message = f"{partition!r} is a group of role {group.node_type.lower()}, and no partition"
        remedy = f"write {group.partition or names[0]!r}"
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
