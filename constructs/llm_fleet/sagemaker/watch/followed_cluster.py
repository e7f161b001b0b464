"""A cluster whose events a watch takes."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.watch_prefixes import check_cluster_arn


@runtime_checkable
class FollowedCluster(Protocol):
    """A HyperPod cluster, made here or imported."""

    @property
    def cluster_arn(self) -> str:
        """Its ARN; ends with the cluster id."""
        ...


def arns_of(clusters: Sequence[FollowedCluster | str]) -> list[str]:
    """Return the ARNs of `clusters`, given as such or as constructs."""
    return [cluster if isinstance(cluster, str) else cluster.cluster_arn for cluster in clusters]


def check_clusters(clusters: Sequence[Any]) -> list[Problem]:
    """Return a problem for each of `clusters` that is no HyperPod cluster and no ARN of one."""
    return [
        problem
        for index, cluster in enumerate(clusters)
        if not isinstance(cluster, FollowedCluster)
        for problem in check_cluster_arn(cluster, "clusters", index)
    ]
