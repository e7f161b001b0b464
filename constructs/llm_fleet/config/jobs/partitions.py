"""The partitions of a fleet's clusters as training runs see them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from llm_fleet.config.check_training import training_place_of
from llm_fleet.config.cluster import HyperPodConfig
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.node_setup import NodeSetupModel
from llm_fleet.config.parallelcluster import ParallelClusterConfig
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.training.environment_place import TrainingPlace, folder_of
from llm_fleet.rules.training.packages import PlannedEnvironment, plan
from llm_fleet.rules.training.run import TrainingPartition
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
