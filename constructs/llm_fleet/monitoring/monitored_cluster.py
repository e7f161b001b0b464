"""A cluster that is monitored: its measures, and the thresholds of its alarms."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from llm_fleet.catalog.monitoring import (
    account_metrics,
    alarm_thresholds,
    cluster_metrics,
    metrics_namespace,
    parallelcluster_metrics,
    start_failures_metric,
    starts_degraded_metric,
)
from llm_fleet.notifications.metric_alarms import ServiceMetric
from llm_fleet.rules.monitoring.thresholds import check_cluster_thresholds
from llm_fleet.rules.problem import raise_problems


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAlarmThresholds:
    """From when on the alarms of clusters and file systems ring; `None` is the catalog's figure.

    Minutes are whole, 5 to 1440. Raises `FleetError` (LF1180) for what would always ring, or never.
    """

    node_failed_minutes: int | None = None
    """How long a node of HyperPod is in Failure: longer than replacing one takes to begin. Default: 10."""
    stuck_pending_minutes: int | None = None
    """How long nodes that a group wants are pending or missing. Default: 30."""
    idle_percent: float | None = None
    """Below which use of accelerators, on the mean of all nodes, they are idle. Default: 5."""
    idle_minutes: int | None = None
    """How long they are, while a job holds nodes. Default: 60."""
    unused_minutes: int | None = None
    """How long they are, while no job holds any node. Default: 120."""
    disk_percent: float | None = None
    """How full the fullest disk of any node is. Default: 85."""
    file_system_percent: float | None = None
    """How full a file system is; of Lustre, its fullest target. Default: 90."""
    queue_wait_minutes: int | None = None
    """How long a job of Slurm has waited that could run, while nodes are idle, down or drained. Default: 240."""
    nodes_down_minutes: int | None = None
    """How long Slurm takes a node for down. Default: 15."""
    silent_minutes: int | None = None
    """How long no node publishes anything while nodes run. Default: 30."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_cluster_thresholds(self), subject="ClusterAlarmThresholds")

    def figure(self, name: str) -> float:
        """Return the threshold `name`, the catalog's where none was given."""
        own: float | None = getattr(self, name)
        return alarm_thresholds()[name] if own is None else own


_CLUSTER = "Cluster"
_STATISTIC = "Maximum"
PERIOD = 300
"""Seconds: our function looks so often, and nothing here changes faster than somebody is called."""


def account_metric(key: str, cluster: str, *, label: str = "") -> ServiceMetric:
    """Return what our function publishes of `cluster` under our `key`, e.g. `nodes_failed`."""
    facts = account_metrics()
    return ServiceMetric(
        namespace=facts.namespace,
        name=facts.metrics[key],
        dimensions=MappingProxyType({facts.dimension: cluster}),
        statistic=_STATISTIC,
        period_seconds=PERIOD,
        label=label or facts.metrics[key],
    )


def node_metric(key: str, cluster: str, *, statistic: str = _STATISTIC, label: str = "") -> ServiceMetric:
    """Return what the nodes of `cluster` publish under `key` of the catalog's metrics, over all of them."""
    metric = cluster_metrics()[key]
    if (_CLUSTER,) not in metric.dimensions:
        raise KeyError(f"{key} is not published by cluster alone, and an alarm looks at nothing else")
    return _measured_of_nodes(metric.name, cluster, statistic, label)


def failed_starts(cluster: str) -> ServiceMetric:
    """Return how many starts of nodes of `cluster` have failed in a step of their configuration."""
    return _measured_of_nodes(start_failures_metric(), cluster, "Sum", "failed starts")


def degraded_starts(cluster: str) -> ServiceMetric:
    """Return how many nodes of `cluster` have started without something that jobs do not need, e.g. Lustre over EFA."""
    return _measured_of_nodes(starts_degraded_metric(), cluster, "Sum", "degraded starts")


def parallelcluster_metric(name: str, cluster: str, *, label: str = "") -> ServiceMetric:
    """Return what ParallelCluster counts in its logs of `cluster`."""
    facts = parallelcluster_metrics()
    return ServiceMetric(
        namespace=facts.namespace,
        name=name,
        dimensions=MappingProxyType({facts.dimension: cluster}),
        statistic="Sum",
        period_seconds=PERIOD,
        label=label or name,
    )


def _measured_of_nodes(name: str, cluster: str, statistic: str, label: str) -> ServiceMetric:
    return ServiceMetric(
        namespace=metrics_namespace(),
        name=name,
        dimensions=MappingProxyType({_CLUSTER: cluster}),
        statistic=statistic,
        period_seconds=PERIOD,
        label=label or name,
    )
