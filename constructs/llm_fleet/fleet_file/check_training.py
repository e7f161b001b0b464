"""What clusters of a fleet file carry for training jobs, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.fleet_file.check_parallelcluster import placed_parallelcluster
from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.fleet_file.parallelcluster import ParallelClusterConfig
from llm_fleet.fleet_file.placed_cluster import placed_cluster
from llm_fleet.named_files.named_file import files_of
from llm_fleet.rules.parallelcluster.nodes import node_groups, shared_folder
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.training.environment import check_training
from llm_fleet.rules.training.environment_place import SharedFolder, TrainingPlace
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
    os = None
    if isinstance(cluster, HyperPodConfig):
        placed = placed_cluster(fleet, cluster)
        groups = placed.node_groups
        shared = [SharedFolder(kind=each.kind, path=each.mount_path, groups=each.groups) for each in placed.node_mounts]
    else:
        shape = placed_parallelcluster(fleet, cluster)
        groups, os = node_groups(shape), shape.os
        shared = [shared_folder(each) for each in shape.shared_storage]
    return TrainingPlace.of(
        cluster,
        groups,
        shared,
        files=() if cluster.downloads is None else None,
        region=fleet.region,
        os=os,
        internet=fleet.way_out is not InternetAccess.NONE,
    )


def with_lock(place: TrainingPlace, cluster: NodeSetupModel) -> TrainingPlace:
    """Return `place` with what is in the lock file of `cluster`; a wrong one is told elsewhere."""
    return replace(place, files=files_of(cluster.downloads))
