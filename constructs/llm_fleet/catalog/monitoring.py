"""Metrics of clusters and their nodes, thresholds of alarms, chats and budgets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from llm_fleet.catalog.data_file import KEY, Limit, reader

_SUFFIXES = {"Percent": "_percent", "Bytes/Second": "_bytes_per_second", "Seconds": "_seconds"}
"""What names of Prometheus end in, by CloudWatch's unit (prometheus.io/docs/practices/naming)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetric:
    """One value that nodes publish each minute. CloudWatch has its mean, sum, extremes and count over the nodes."""

    key: Annotated[str, KEY]
    """Its name in programs, e.g. `root_disk_used`."""
    name: str
    """Its name in CloudWatch, e.g. `RootDiskUsed`."""
    unit: str
    """As CloudWatch says it, e.g. `Percent`."""
    source: str
    """What it is read of: `node`, `accelerator`, `efa`, `lustre`, or `slurm` on the controller alone."""
    dimensions: tuple[tuple[str, ...], ...]
    """The sets of dimensions it is published with: `Cluster`, and `Cluster` with `Group`."""
    meaning: str
    """What it tells, in a few words."""

    @property
    def prometheus_name(self) -> str:
        """Its name in Prometheus, e.g. `llm_fleet_root_disk_used_percent`: a gauge."""
        return f"llm_fleet_{self.key}{_SUFFIXES.get(self.unit, '')}"


cluster_metrics = reader(Mapping[str, ClusterMetric], "cluster_metrics", "metrics")
"""Every metric by its key."""
metrics_namespace = reader(str, "cluster_metrics", "namespace")
"""CloudWatch's namespace of all of them; that of the metric of failed starts, too."""
_log_group_prefix = reader(str, "cluster_metrics", "log_group_prefix")


def metrics_log_group(cluster_name: str) -> str:
    """Return the name of the log group that nodes of `cluster_name` write their lines to."""
    return f"{_log_group_prefix()}/{cluster_name}"


metrics_seconds = reader(int, "cluster_metrics", "seconds")
"""How many seconds lie between two values of a node."""
metrics_retention_days = reader(int, "cluster_metrics", "retention_days")
"""For how many days the lines are kept unless told."""
workspace_arn_pattern = reader(str, "cluster_metrics", "workspace_arn")
"""What the ARN of a workspace of Amazon Managed Service for Prometheus looks like, in whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountMetrics:
    """What our own function publishes of clusters."""

    namespace: str
    dimension: str
    metrics: Mapping[str, str]
    """Names of metrics by our keys: `nodes_running`, `nodes_pending`, `nodes_missing`, `nodes_failed` and more."""
    minutes: int
    """How often it looks."""
    timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageFacts:
    """What FSx and RDS tell of what fills up."""

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
    """What ParallelCluster counts in its own logs."""

    namespace: str
    dimension: str
    no_capacity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFacts:
    """The forms of a chat's ids, and what its role reads."""

    slack_workspace: Limit
    slack_channel: Limit
    uuid: Limit
    teams_channel: Limit
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBudgetFacts:
    """What AWS Budgets allows, and what its action takes away."""

    at_percent: tuple[float, ...]
    notifications: Limit
    emails: Limit
    roles: Limit
    denied: tuple[str, ...]
    """IAM actions that start machines."""


account_metrics = reader(AccountMetrics, "cluster_alarms", "account")
alarm_thresholds = reader(Mapping[str, float], "cluster_alarms", "thresholds")
"""From when on each alarm rings, by the names of `ClusterAlarmThresholds`."""
alarm_minutes = reader(Limit, "cluster_alarms", "alarm_minutes")
"""Over how many minutes an alarm may look."""
start_failures_metric = reader(str, "cluster_alarms", "start_failures")
"""The metric by which nodes tell that their start has failed, in the namespace of their other metrics."""
starts_degraded_metric = reader(str, "cluster_alarms", "starts_degraded")
"""The metric by which nodes tell that they work without something that jobs do not need."""
cluster_log_group = reader(str, "cluster_alarms", "log_group")
"""What the names of HyperPod's log groups begin with, before `/<cluster>/<id>`."""
log_retention_days = reader(int, "cluster_alarms", "log_retention_days")
"""For how many days they are kept unless somebody says otherwise."""
storage_facts = reader(StorageFacts, "cluster_alarms", "storage")
parallelcluster_metrics = reader(ParallelClusterMetrics, "cluster_alarms", "parallelcluster")
chat_facts = reader(ChatFacts, "cluster_alarms", "chat")
fleet_budget_facts = reader(FleetBudgetFacts, "cluster_alarms", "budget")
