"""Where what nodes measure of themselves goes, as `fleet.json` has it, and what it takes."""

from typing import Any

from llm_fleet.catalog.monitoring import metrics_log_group, metrics_namespace, metrics_seconds
from llm_fleet.lifecycle.cluster_metrics import ClusterMetrics
from llm_fleet.rules.monitoring.metrics_terms import MetricsDestination


def render_metrics(metrics: ClusterMetrics | None, *, cluster_name: str | None) -> dict[str, Any]:
    """Return the part of the manifest with its key; nothing at all where nothing is measured.

    `cluster_name`: as its owner gave it, which on ParallelCluster is without the hash; may be a token.
    """
    if metrics is None or metrics.destination is MetricsDestination.NONE:
        return {}
    name = cluster_name or "unnamed"
    to_logs = metrics.destination is MetricsDestination.CLOUDWATCH
    return {
        "metrics": {
            "destination": metrics.destination.value,
            "cluster": name,
            "namespace": metrics_namespace(),
            "log_group": metrics_log_group(name) if to_logs else None,
            "remote_write_url": metrics.remote_write_url,
            "seconds": metrics_seconds(),
        }
    }


def metrics_rights(metrics: ClusterMetrics | None, *, cluster_name: str) -> dict[str, Any]:
    """Return the features of nodes (`NodeFeatures`) that `metrics` ask for."""
    if metrics is None:
        return {}
    if metrics.workspace_arn is not None:
        return {"metrics_workspaces": (metrics.workspace_arn,)}
    to_logs = metrics.destination is MetricsDestination.CLOUDWATCH
    return {"metrics_log_group": metrics_log_group(cluster_name)} if to_logs else {}
