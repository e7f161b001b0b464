"""The HyperPod clusters of a fleet file, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.fleet_file.check_bucket_names import check_bucket_names
from llm_fleet.fleet_file.check_node_setup import check_nodes_in_file
from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.placed_cluster import placed_cluster
from llm_fleet.rules.bundle import check_scripts_place
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster
from llm_fleet.rules.node_setup import check_nodes_told
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.hyperpod_cluster import PlacedCluster

_FILE_SYSTEMS = {"lustre": "fsx", "open_zfs": "home"}


def check_cluster_config(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the HyperPod clusters, by attribute names."""
    for name, cluster in fleet.hyperpod_clusters.items():
        placed = placed_cluster(fleet, cluster)
        for problem in check_cluster(placed):
            # An AZ that the cluster takes from elsewhere is told there; that a mount stands in another, here.
            own_zone = cluster.availability_zone_id is not None or problem.code is Code.MOUNT_ZONE
            if problem.path != ("availability_zone_id",) or own_zone:
                yield _in_file(problem, cluster)
        for problem in _check_own(cluster, placed, fleet):
            yield problem.under("clusters", name)


def _in_file(problem: Problem, cluster: HyperPodConfig) -> Problem:
    """Return a problem of a cluster where the file has it: file systems and region are the fleet's, not its own."""
    first = problem.path[0] if problem.path else None
    if first == "region":
        return problem
    if first in _FILE_SYSTEMS:
        return replace(problem, path=("storage", _FILE_SYSTEMS[str(first)], *problem.path[1:]))
    if problem.code is Code.LIFECYCLE_SCRIPT and not _names_script(cluster, problem):
        problem = replace(problem, path=("scripts", "entry_point"))
    if first == "cluster_name" and "cluster_name" not in cluster.model_fields_set:
        problem = replace(problem, path=("name",))
    return problem.under("clusters", cluster.name)


def _check_own(cluster: HyperPodConfig, placed: PlacedCluster, fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the keys that only a fleet file has."""
    yield from (problem.under("scripts") for problem in check_scripts_place(cluster.scripts))
    yield from check_nodes_in_file(
        cluster,
        cluster.scripts,
        groups=placed.node_groups,
        mount_paths=[mount.mount_path for mount in placed.mounts],
        home_is_shared=False,
    )
    yield from check_nodes_told(placed.spec, cluster.scripts, placed.node_groups)
    yield from check_bucket_names(cluster, fleet)


def _names_script(cluster: HyperPodConfig, problem: Problem) -> bool:
    """Return whether the group that `problem` is about names a script of its own."""
    return cluster.by_name[str(problem.path[1])].script is not None
