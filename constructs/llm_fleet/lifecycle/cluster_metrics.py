"""Metrics, logs and reports of nodes, and their part of the node manifest."""

from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.monitoring import metrics_log_group, metrics_namespace, metrics_seconds
from llm_fleet.logs import log_group
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.rules.terms import NodeReports
from llm_fleet.spec.monitoring import ClusterMetrics, MetricsDestination


def _remote_write_url(workspace_arn: str | None) -> str | None:
    """Return the Prometheus workspace of nodes; `None` for CloudWatch. A token when the ARN is one."""
    if workspace_arn is None:
        return None
    region, workspace = _parts(workspace_arn)
    return f"https://aps-workspaces.{region}.amazonaws.com/workspaces/{workspace}/api/v1/remote_write"


def _parts(arn: str) -> tuple[str, str]:
    """Return region and workspace id of `arn:aws:aps:<region>:<account>:workspace/<id>`."""
    if is_unresolved(arn):
        return cdk.Fn.select(3, cdk.Fn.split(":", arn)), cdk.Fn.select(1, cdk.Fn.split("/", arn))
    return arn.split(":")[3], arn.rpartition("/")[2]


class MetricsLog(Construct):
    """The log group `/llm-fleet/metrics/<cluster>`, from whose lines CloudWatch extracts metrics.

    It is deleted with its cluster; CloudWatch keeps the metrics for 15 months.
    """

    def __init__(self, scope: Construct, id: str, *, cluster_name: str, retention_days: int) -> None:
        """Create the group; lines are retained for `retention_days`."""
        super().__init__(scope, id)
        self.log_group = log_group(
            self,
            "Resource",
            name=metrics_log_group(cluster_name),
            retention_days=retention_days,
            holds="; the lines contain numbers, names of nodes, and Slurm's reasons of drained nodes",
        )
        """The L1 beneath."""

    @classmethod
    def of(cls, scope: Construct, metrics: ClusterMetrics | None, *, cluster_name: str) -> "MetricsLog | None":
        """Return the log that `metrics` require; `None` for other destinations, or no metrics."""
        if metrics is None or metrics.destination is not MetricsDestination.CLOUDWATCH:
            return None
        return cls(scope, "MetricsLog", cluster_name=cluster_name, retention_days=metrics.log_days)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlace:
    """Destinations of the report of a node's start, and of the metric and event of a failed start."""

    s3_uri: str
    """`s3://…` with a slash at its end; may be a token. Nodes write below it and never read."""
    metric_namespace: str | None = None
    """CloudWatch namespace of the metrics. `None` for no metric."""
    event_bus: str | None = None
    """EventBridge bus of the events. `None` for no event."""


def report_place(wanted: NodeReports, bucket: s3.IBucket, prefix: str) -> ReportPlace | None:
    """Return where nodes write reports: in `bucket` below `prefix`; `None` for no reports."""
    if wanted == NodeReports.NONE:
        return None
    facts = load("lifecycle")
    reported = wanted == NodeReports.ALL
    return ReportPlace(
        s3_uri=f"s3://{bucket.bucket_name}/{prefix}/",
        metric_namespace=facts["metric_namespace"] if reported else None,
        event_bus=facts["event_bus"] if reported else None,
    )


def render_metrics(metrics: ClusterMetrics | None, *, cluster_name: str | None) -> dict[str, Any]:
    """Return the part of the manifest with its key; empty without metrics.

    `cluster_name`: the name that the user set, on ParallelCluster without the hash; may be a token.
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
            "remote_write_url": _remote_write_url(metrics.workspace_arn),
            "seconds": metrics_seconds(),
        }
    }


def metrics_permissions(metrics: ClusterMetrics | None, *, cluster_name: str) -> dict[str, Any]:
    """Return the features of nodes (`NodeFeatures`) that `metrics` require."""
    if metrics is None:
        return {}
    if metrics.workspace_arn is not None:
        return {"metrics_workspaces": (metrics.workspace_arn,)}
    to_logs = metrics.destination is MetricsDestination.CLOUDWATCH
    return {"metrics_log_group": metrics_log_group(cluster_name)} if to_logs else {}
