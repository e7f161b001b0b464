"""A cluster that is watched."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable


class ClusterKind(StrEnum):
    """What runs a cluster."""

    HYPERPOD = "hyperpod"
    PARALLELCLUSTER = "parallelcluster"


@runtime_checkable
class NamedCluster(Protocol):
    """A cluster made here or elsewhere: `HyperPodCluster` or `ParallelCluster`."""

    @property
    def cluster_name(self) -> str:
        """Its name, as the service has it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredCluster:
    """A cluster by its name, and what there is to watch of it. It need not exist yet: alarms wait for it."""

    name: str
    """As SageMaker or ParallelCluster has it; of a ParallelCluster that was made here, with its hash."""
    kind: ClusterKind
    node_metrics: bool = False
    """Whether its nodes publish metrics to CloudWatch. Default: no, and alarms on nodes' own figures are left out."""
    accelerators: bool = True
    """Whether it has accelerators; only of `node_metrics`. Default: yes."""
    published_as: str | None = None
    """What its nodes call it in their metrics. Default: `name`; of a ParallelCluster made here, that without its hash.
    """

    @classmethod
    def hyperpod(cls, name: str, *, node_metrics: bool = False, accelerators: bool = True) -> "MonitoredCluster":
        """Return a HyperPod cluster by its name."""
        return cls(name=name, kind=ClusterKind.HYPERPOD, node_metrics=node_metrics, accelerators=accelerators)

    @classmethod
    def parallelcluster(
        cls, name: str, *, node_metrics: bool = False, accelerators: bool = True, published_as: str | None = None
    ) -> "MonitoredCluster":
        """Return a ParallelCluster by its name."""
        return cls(
            name=name,
            kind=ClusterKind.PARALLELCLUSTER,
            node_metrics=node_metrics,
            accelerators=accelerators,
            published_as=published_as,
        )

    @property
    def nodes_name(self) -> str:
        """What its nodes call it in their metrics."""
        return self.published_as or self.name


def monitored(cluster: Any) -> MonitoredCluster:
    """Return `cluster`, a construct or a MonitoredCluster, as the latter; only a HyperPod cluster has an ARN here."""
    if isinstance(cluster, MonitoredCluster):
        return cluster
    kind = ClusterKind.HYPERPOD if hasattr(cluster, "cluster_arn") else ClusterKind.PARALLELCLUSTER
    return MonitoredCluster(name=cluster.cluster_name, kind=kind)
