"""What clusters of a fleet file carry for training jobs, judged by the rules that judge the constructs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from llm_fleet.fleet_file.check_parallelcluster import placed_parallelcluster
from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.fleet_file.parallelcluster import ParallelClusterConfig
from llm_fleet.fleet_file.placed_cluster import placed_cluster
from llm_fleet.named_files.named_file import lock_problems, locked_files
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess, NodeType, StorageKind
from llm_fleet.rules.training.environment import check_training
from llm_fleet.rules.training.environment_place import SharedFolder, TrainingGroup, TrainingPlace
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.training_runtime import TrainingRuntime


def check_training_config(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the training runtimes of `fleet`, whatever its lock files hold, by attribute names."""
    for name, cluster in fleet.clusters.items():
        if cluster.training is not None:
            found = _check(cluster.training, training_place_of(fleet, cluster))
            yield from (problem.under("clusters", name, "training") for problem in found)


def check_training_files(fleet: Fleet, cluster: HyperPodConfig | ParallelClusterConfig) -> Iterator[Problem]:
    """Return what else is wrong with the runtime of `cluster`, once its lock file is read, below the cluster."""
    if cluster.training is None:
        return
    place = training_place_of(fleet, cluster)
    told = _check(cluster.training, place)
    found = _check(cluster.training, with_lock(place, cluster))
    yield from (problem.under("training") for problem in found if problem not in told)


def _check(runtime: TrainingRuntime, place: TrainingPlace) -> list[Problem]:
    return [_in_file(problem, runtime) for problem in check_training(runtime, place)]


def _in_file(problem: Problem, runtime: TrainingRuntime) -> Problem:
    """Return a problem where the file has it: environments stand under their names."""
    match problem.path:
        case ("environments", int(index), *rest):
            return replace(problem, path=("environments", str(runtime.environments[index].name), *rest))
        case _:
            return problem


def training_place_of(fleet: Fleet, cluster: HyperPodConfig | ParallelClusterConfig) -> TrainingPlace:
    """Return `cluster` of `fleet` as training asks of it, without having looked into its lock file."""
    if isinstance(cluster, HyperPodConfig):
        return _told(_hyperpod(placed_cluster(fleet, cluster)), fleet, cluster)
    return _told(_parallelcluster(placed_parallelcluster(fleet, cluster)), fleet, cluster)


def with_lock(place: TrainingPlace, cluster: NodeSetupModel) -> TrainingPlace:
    """Return `place` with what is in the lock file of `cluster`; a wrong one is told elsewhere."""
    if cluster.downloads is None or lock_problems(cluster.downloads.lock_path):
        return place
    return replace(place, files=locked_files(cluster.downloads.lock_path))


def _told(place: TrainingPlace, fleet: Fleet, cluster: NodeSetupModel) -> TrainingPlace:
    """Return `place` with what is told of clusters of both kinds alike."""
    downloads = cluster.downloads
    nothing: Sequence[Mapping[str, Any]] = ()
    return replace(
        place,
        region=fleet.region,
        neuron_release=cluster.neuron.release if cluster.neuron else None,
        source="none" if downloads is None else "vendor" if downloads.mirror is None else "mirror",
        files=nothing if downloads is None else None,
        internet=fleet.way_out is not InternetAccess.NONE,
    )


def _hyperpod(view: PlacedCluster) -> TrainingPlace:
    mounts = view.mounts
    return TrainingPlace(
        groups=[TrainingGroup.of_hyperpod(group, mounts) for group in view.groups],
        shared=[SharedFolder(kind=mount.kind, path=mount.mount_path) for mount in mounts],
    )


def _parallelcluster(shape: PlacedParallelCluster) -> TrainingPlace:
    queues = [
        TrainingGroup(
            name=queue.name,
            role=NodeType.COMPUTE,
            instance_types=list(dict.fromkeys(name for resource in queue.compute_resources for name in resource.types)),
        )
        for queue in shape.queues
    ]
    head = TrainingGroup(name="HeadNode", role=NodeType.CONTROLLER, instance_types=[shape.head_node.instance_type])
    return TrainingPlace(
        groups=[head, *queues],
        shared=[
            SharedFolder(kind="lustre" if each.kind is StorageKind.FSX_LUSTRE else each.kind.value, path=each.mount_dir)
            for each in shape.shared_storage
        ],
        os=shape.os,
    )
