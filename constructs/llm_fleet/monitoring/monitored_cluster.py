"""A cluster that is monitored: its measures, and the dashboard of clusters and of what they stand on."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from llm_fleet.catalog.monitoring import (
    account_metrics,
    cluster_metrics,
    metrics_namespace,
    parallelcluster_metrics,
    start_failures_metric,
    starts_degraded_metric,
)
from llm_fleet.notifications.metric_alarms import (
    AlarmPlan,
    ServiceMetric,
    alarm_lines,
    alarm_widget,
    graph,
    page,
    text_widget,
)


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


_MOST_ALARMS = 100
"""A widget shows no more (CloudWatch-Dashboard-Body-Structure)."""
_A_ROW = 3
Row = list[dict[str, Any]]


def monitoring_dashboard(
    clusters: Sequence[MonitoredCluster],
    cluster_plans: Sequence[Sequence[AlarmPlan]],
    storage_plans: Sequence[AlarmPlan],
    *,
    alarm_arns: Sequence[str],
    region: str,
) -> dict[str, Any]:
    """Return the dashboard: alarms, each cluster, what they stand on, and what to do about each alarm.

    `cluster_plans`: of each of `clusters`, in their order.
    """
    every = [*(plan for plans in cluster_plans for plan in plans), *storage_plans]
    rows = [
        [alarm_widget(alarm_arns[:_MOST_ALARMS])],
        *(row for cluster, plans in zip(clusters, cluster_plans, strict=True) for row in _cluster(cluster, plans)),
        *_in_rows([graph(plan.id, plan.measure, lines=alarm_lines(plan.id, [plan])) for plan in storage_plans]),
        [text_widget(every)],
    ]
    return page([row for row in rows if row], region)


def _cluster(cluster: MonitoredCluster, plans: Sequence[AlarmPlan]) -> list[Row]:
    of_account = _hyperpod(cluster.name) if cluster.kind == ClusterKind.HYPERPOD else _parallelcluster(cluster)
    return [of_account, *(_in_rows(_of_nodes(cluster, plans)) if cluster.node_metrics else [])]


def _hyperpod(name: str) -> Row:
    return [
        graph(
            f"{name}: nodes",
            account_metric("nodes_running", name, label="running"),
            account_metric("nodes_pending", name, label="pending"),
            account_metric("nodes_missing", name, label="missing"),
            account_metric("nodes_failed", name, label="in Failure"),
        ),
        graph(f"{name}: starts that failed", failed_starts(name), degraded_starts(name)),
    ]


def _parallelcluster(cluster: MonitoredCluster) -> Row:
    name = cluster.name
    return [
        graph(
            f"{name}: head node impaired (1), instances refused",
            account_metric("head_node_impaired", name, label="head node impaired"),
            parallelcluster_metric(parallelcluster_metrics().no_capacity, name, label="no capacity"),
        ),
        graph(
            f"{name}: starts that failed",
            failed_starts(cluster.nodes_name),
            degraded_starts(cluster.nodes_name),
        ),
    ]


def _of_nodes(cluster: MonitoredCluster, plans: Sequence[AlarmPlan]) -> Row:
    name = cluster.nodes_name
    accelerators = [
        graph(
            f"{name}: accelerators (%), mean of all nodes",
            node_metric("accelerator_utilization", name, statistic="Average", label="used"),
            node_metric("accelerator_memory_used", name, statistic="Average", label="memory"),
            lines=alarm_lines("IdleAllocated", plans),
        ),
        graph(
            f"{name}: EFA, sum of all nodes",
            node_metric("efa_received", name, statistic="Sum", label="received"),
            node_metric("efa_sent", name, statistic="Sum", label="sent"),
        ),
    ]
    return [
        *(accelerators if cluster.accelerators else []),
        graph(
            f"{name}: Slurm's nodes",
            node_metric("slurm_nodes_allocated", name, label="allocated"),
            node_metric("slurm_nodes_idle", name, label="idle"),
            node_metric("slurm_nodes_down", name, label="down"),
        ),
        graph(
            f"{name}: Slurm's jobs",
            node_metric("slurm_jobs_running", name, label="running"),
            node_metric("slurm_jobs_pending", name, label="pending"),
        ),
        graph(
            f"{name}: longest wait of a job that could run (s)",
            node_metric("slurm_longest_wait", name, label="wait"),
            lines=alarm_lines("QueueWait", plans),
        ),
        graph(
            f"{name}: fullest disk of any node (%)",
            node_metric("root_disk_used", name, label="root"),
            node_metric("local_disk_used", name, label="local"),
            lines=alarm_lines("RootDisk", plans),
        ),
    ]


def _in_rows(widgets: Row) -> list[Row]:
    return [widgets[start : start + _A_ROW] for start in range(0, len(widgets), _A_ROW)]
