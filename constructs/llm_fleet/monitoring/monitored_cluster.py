"""A monitored cluster and its metrics, and the dashboard of clusters and their storage."""

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
    """The service of a cluster."""

    HYPERPOD = "hyperpod"
    PARALLELCLUSTER = "parallelcluster"


@runtime_checkable
class NamedCluster(Protocol):
    """A cluster of this app, or an imported one: `HyperPodCluster` or `ParallelCluster`."""

    @property
    def cluster_name(self) -> str:
        """The cluster's name in the service."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredCluster:
    """A cluster by name, with its available metrics. It does not need to exist yet."""

    name: str
    """Name in SageMaker or ParallelCluster; for a ParallelCluster of this app, with its hash."""
    kind: ClusterKind
    node_metrics: bool = False
    """Whether its nodes publish metrics to CloudWatch. Default: no, without alarms on node metrics."""
    accelerators: bool = True
    """Whether it has accelerators; used only with `node_metrics`. Default: yes."""
    published_as: str | None = None
    """Its name in metrics of its nodes. Default: `name`; for a ParallelCluster of this app, `name` without the hash."""

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
        """Its name in metrics of its nodes."""
        return self.published_as or self.name


def monitored(cluster: Any) -> MonitoredCluster:
    """Return a cluster construct or MonitoredCluster as a MonitoredCluster; only HyperPod constructs have an ARN."""
    if isinstance(cluster, MonitoredCluster):
        return cluster
    kind = ClusterKind.HYPERPOD if hasattr(cluster, "cluster_arn") else ClusterKind.PARALLELCLUSTER
    return MonitoredCluster(name=cluster.cluster_name, kind=kind)


_CLUSTER = "Cluster"
_STATISTIC = "Maximum"
PERIOD = 300
"""Period in seconds, the interval of the function; alarms do not need a shorter one."""


def account_metric(key: str, cluster: str, *, label: str = "") -> ServiceMetric:
    """Return the metric that the cluster observer publishes for `cluster` under `key`, e.g. `nodes_failed`."""
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
    """Return the node metric `key` of the catalog over all nodes of `cluster`."""
    metric = cluster_metrics()[key]
    if (_CLUSTER,) not in metric.dimensions:
        raise KeyError(f"{key} is not published with the dimension Cluster alone, which alarms require")
    return _measured_of_nodes(metric.name, cluster, statistic, label)


def failed_starts(cluster: str) -> ServiceMetric:
    """Return the number of node starts of `cluster` that failed in a step of the node configuration."""
    return _measured_of_nodes(start_failures_metric(), cluster, "Sum", "failed starts")


def degraded_starts(cluster: str) -> ServiceMetric:
    """Return the number of nodes of `cluster` that started without an optional part, e.g. Lustre over EFA."""
    return _measured_of_nodes(starts_degraded_metric(), cluster, "Sum", "degraded starts")


def parallelcluster_metric(name: str, cluster: str, *, label: str = "") -> ServiceMetric:
    """Return a metric that ParallelCluster creates from its logs of `cluster`."""
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
"""Maximum number of alarms in a widget (CloudWatch-Dashboard-Body-Structure)."""
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
    """Return the dashboard: alarms, each cluster, storage, and what to do about each alarm.

    `cluster_plans`: plans for each of `clusters`, in the same order.
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
        graph(f"{name}: failed starts", failed_starts(name), degraded_starts(name)),
    ]


def _parallelcluster(cluster: MonitoredCluster) -> Row:
    name = cluster.name
    return [
        graph(
            f"{name}: head node impaired (1), insufficient capacity",
            account_metric("head_node_impaired", name, label="head node impaired"),
            parallelcluster_metric(parallelcluster_metrics().no_capacity, name, label="no capacity"),
        ),
        graph(
            f"{name}: failed starts",
            failed_starts(cluster.nodes_name),
            degraded_starts(cluster.nodes_name),
        ),
    ]


def _of_nodes(cluster: MonitoredCluster, plans: Sequence[AlarmPlan]) -> Row:
    name = cluster.nodes_name
    accelerators = [
        graph(
            f"{name}: accelerators (%), average of all nodes",
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
