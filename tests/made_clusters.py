"""Clusters made from one flat set of keywords: the fields of the spec and the parameters of the construct."""

from typing import Any

from constructs import Construct

from llm_fleet import HyperPodCluster, HyperPodClusterSpec, ParallelCluster, ParallelClusterSpec
from llm_fleet.spec.spec import Spec


def _of_spec(spec: type[Spec], options: dict[str, Any]) -> dict[str, Any]:
    return {name: options.pop(name) for name in spec.model_fields if name in options}


def parallel_cluster(scope: Construct, id: str, **options: Any) -> ParallelCluster:
    """Create a ParallelCluster from fields of `ParallelClusterSpec` and parameters of the construct."""
    return ParallelCluster(scope, id, ParallelClusterSpec(**_of_spec(ParallelClusterSpec, options)), **options)


def hyperpod_cluster(scope: Construct, id: str, **options: Any) -> HyperPodCluster:
    """Create a HyperPod cluster from fields of `HyperPodClusterSpec` and parameters of the construct."""
    return HyperPodCluster(scope, id, HyperPodClusterSpec(**_of_spec(HyperPodClusterSpec, options)), **options)
