"""Metrics of clusters and their nodes, alarm thresholds, chat channels and budgets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from llm_fleet.catalog.data_file import KEY, Limit, reader

_SUFFIXES = {"Percent": "_percent", "Bytes/Second": "_bytes_per_second", "Seconds": "_seconds"}
"""Suffixes of Prometheus metric names by CloudWatch unit (prometheus.io/docs/practices/naming)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetric:
    """A metric that nodes publish each minute. CloudWatch has average, sum, extremes and count over the nodes."""

    key: Annotated[str, KEY]
    """Its key in code, e.g. `root_disk_used`."""
    name: str
    """Its name in CloudWatch, e.g. `RootDiskUsed`."""
    unit: str
    """CloudWatch unit, e.g. `Percent`."""
    source: str
    """Its source: `node`, `accelerator`, `efa`, `lustre`, or `slurm` on the controller alone."""
    dimensions: tuple[tuple[str, ...], ...]
    """The dimension sets it is published with: `Cluster`, and `Cluster` with `Group`."""
    meaning: str
    """A short description."""

    @property
    def prometheus_name(self) -> str:
        """Its name in Prometheus, e.g. `llm_fleet_root_disk_used_percent`: a gauge."""
        return f"llm_fleet_{self.key}{_SUFFIXES.get(self.unit, '')}"


cluster_metrics = reader(Mapping[str, ClusterMetric], "cluster_metrics", "metrics")
"""Every metric by its key."""
metrics_namespace = reader(str, "cluster_metrics", "namespace")
"""CloudWatch namespace of all of them, and of the metric of failed node starts."""
_log_group_prefix = reader(str, "cluster_metrics", "log_group_prefix")


def metrics_log_group(cluster_name: str) -> str:
    """Return the name of the log group that nodes of `cluster_name` write metrics to."""
    return f"{_log_group_prefix()}/{cluster_name}"


metrics_seconds = reader(int, "cluster_metrics", "seconds")
"""Seconds between two values of a node."""
metrics_retention_days = reader(int, "cluster_metrics", "retention_days")
"""Default retention of the metrics log group in days."""
workspace_arn_pattern = reader(str, "cluster_metrics", "workspace_arn")
"""Pattern of the full ARN of an Amazon Managed Service for Prometheus workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountMetrics:
    """Metrics that llm-fleet's Lambda function publishes for clusters."""

    namespace: str
    dimension: str
    metrics: Mapping[str, str]
    """Metric names by key: `nodes_running`, `nodes_pending`, `nodes_missing`, `nodes_failed` and more."""
    minutes: int
    """Minutes between two runs."""
    timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageFacts:
    """Metrics of FSx and RDS for storage capacity."""

    fsx_namespace: str
    lustre_free: str
    lustre_free_gib_of_a_target: int
    openzfs_used: str
    openzfs_capacity: str
    database_namespace: str
    database_free_of_instance: str
    database_free_gib: int
    database_connections: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelClusterMetrics:
    """Metrics that ParallelCluster creates from its logs."""

    namespace: str
    dimension: str
    no_capacity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFacts:
    """Patterns of a chat channel's ids, and the permissions of its role."""

    slack_workspace: Limit
    slack_channel: Limit
    uuid: Limit
    teams_channel: Limit
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBudgetFacts:
    """Limits of AWS Budgets, and the permissions that its action denies."""

    at_percent: tuple[float, ...]
    notifications: Limit
    emails: Limit
    roles: Limit
    denied: tuple[str, ...]
    """IAM actions that start instances."""


account_metrics = reader(AccountMetrics, "cluster_alarms", "account")
alarm_thresholds = reader(Mapping[str, float], "cluster_alarms", "thresholds")
"""Default thresholds by the names of `ClusterAlarmThresholds`."""
alarm_minutes = reader(Limit, "cluster_alarms", "alarm_minutes")
"""Limits of an alarm's evaluation window in minutes."""
start_failures_metric = reader(str, "cluster_alarms", "start_failures")
"""The metric of failed node starts, in the namespace of the other node metrics."""
starts_degraded_metric = reader(str, "cluster_alarms", "starts_degraded")
"""The metric of nodes that started without an optional part, which jobs do not need."""
cluster_log_group = reader(str, "cluster_alarms", "log_group")
"""Prefix of HyperPod's log groups, before `/<cluster>/<id>`."""
log_retention_days = reader(int, "cluster_alarms", "log_retention_days")
"""Default retention of logs in days."""
storage_facts = reader(StorageFacts, "cluster_alarms", "storage")
parallelcluster_metrics = reader(ParallelClusterMetrics, "cluster_alarms", "parallelcluster")
chat_facts = reader(ChatFacts, "cluster_alarms", "chat")
fleet_budget_facts = reader(FleetBudgetFacts, "cluster_alarms", "budget")
