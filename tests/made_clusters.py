"""Clusters by one flat set of keywords: tests change a field of the description as they change what it is on."""

from typing import Any

from constructs import Construct

from llm_fleet import HyperPodCluster, HyperPodClusterSpec, ParallelCluster, ParallelClusterSpec
from llm_fleet.spec.spec import Spec


def _of_spec(spec: type[Spec], options: dict[str, Any]) -> dict[str, Any]:
    return {name: options.pop(name) for name in spec.model_fields if name in options}


def parallel_cluster(scope: Construct, id: str, **options: Any) -> ParallelCluster:
    """Make a ParallelCluster of the fields of `ParallelClusterSpec`, and of its own parameters."""
    return ParallelCluster(scope, id, ParallelClusterSpec(**_of_spec(ParallelClusterSpec, options)), **options)


def hyperpod_cluster(scope: Construct, id: str, **options: Any) -> HyperPodCluster:
    """Make a HyperPod cluster of the fields of `HyperPodClusterSpec`, and of its own parameters."""
    return HyperPodCluster(scope, id, HyperPodClusterSpec(**_of_spec(HyperPodClusterSpec, options)), **options)
