"""The clusters of a fleet that people reach from a notebook or from Studio."""

from collections.abc import Mapping, Sequence

from llm_fleet.sagemaker.workbench import ReachableCluster
from llm_fleet_stacks.hyperpod_stack import HyperPodStack
from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack


def reached_clusters(
    names: Sequence[str], clusters: Mapping[str, HyperPodStack | ParallelClusterStack]
) -> list[ReachableCluster]:
    """Return the clusters of those `names`, keys of the fleet file, in their order."""
    return [clusters[name].cluster for name in names]
