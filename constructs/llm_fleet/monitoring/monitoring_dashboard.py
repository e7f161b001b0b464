"""The dashboard of clusters and of what they stand on, as CloudWatch takes it."""

from collections.abc import Sequence
from typing import Any

from llm_fleet.catalog.monitoring import parallelcluster_metrics
from llm_fleet.monitoring.monitored_cluster import (
    ClusterKind,
    MonitoredCluster,
    account_metric,
    degraded_starts,
    failed_starts,
    node_metric,
    parallelcluster_metric,
)
from llm_fleet.notifications.dashboard_page import alarm_lines, alarm_widget, graph, page, text_widget
from llm_fleet.notifications.metric_alarms import AlarmPlan

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
