"""Metrics of clusters and their nodes, thresholds of alarms, chats and budgets."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit

_SUFFIXES = {"Percent": "_percent", "Bytes/Second": "_bytes_per_second", "Seconds": "_seconds"}
"""What names of Prometheus end in, by CloudWatch's unit (prometheus.io/docs/practices/naming)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetric:
    """One value that nodes publish each minute. CloudWatch has its mean, sum, extremes and count over the nodes."""

    key: str
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


@cache
def cluster_metrics() -> Mapping[str, ClusterMetric]:
    """Return every metric by its key."""
    facts: Mapping[str, dict[str, Any]] = _cluster_metrics_facts()["metrics"]
    return MappingProxyType({key: _metric(key, fact) for key, fact in facts.items()})


def metrics_namespace() -> str:
    """Return CloudWatch's namespace of all of them; that of the metric of failed starts, too."""
    return _cluster_metrics_facts()["namespace"]


def metrics_log_group(cluster_name: str) -> str:
    """Return the name of the log group that nodes of `cluster_name` write their lines to."""
    return f"{_cluster_metrics_facts()['log_group_prefix']}/{cluster_name}"


def metrics_seconds() -> int:
    """Return how many seconds lie between two values of a node."""
    return _cluster_metrics_facts()["seconds"]


def metrics_retention_days() -> int:
    """Return for how many days the lines are kept unless told."""
    return _cluster_metrics_facts()["retention_days"]


def workspace_arn_pattern() -> str:
    """Return what the ARN of a workspace of Amazon Managed Service for Prometheus looks like, in whole."""
    return _cluster_metrics_facts()["workspace_arn"]


def _metric(key: str, fact: dict[str, Any]) -> ClusterMetric:
    return ClusterMetric(
        key=key,
        name=fact["name"],
        unit=fact["unit"],
        source=fact["source"],
        dimensions=tuple(tuple(names) for names in fact["dimensions"]),
        meaning=fact["meaning"],
    )


def _cluster_metrics_facts() -> dict[str, Any]:
    return load("cluster_metrics")


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


def _cluster_alarms_facts() -> dict[str, Any]:
    return load("cluster_alarms")


@cache
def account_metrics() -> AccountMetrics:
    """Return what our own function publishes."""
    facts = dict(_cluster_alarms_facts()["account"])
    return AccountMetrics(metrics=MappingProxyType(facts.pop("metrics")), **facts)


@cache
def alarm_thresholds() -> Mapping[str, float]:
    """Return from when on each alarm rings, by the names of `ClusterAlarmThresholds`."""
    return MappingProxyType(_cluster_alarms_facts()["thresholds"])


@cache
def alarm_minutes() -> Limit:
    """Return over how many minutes an alarm may look."""
    facts = _cluster_alarms_facts()
    return Limit(minimum=facts["shortest_minutes"], maximum=facts["longest_minutes"])


def start_failures_metric() -> str:
    """Return the metric by which nodes tell that their start has failed, in the namespace of their other metrics."""
    return _cluster_alarms_facts()["start_failures"]


def starts_degraded_metric() -> str:
    """Return the metric by which nodes tell that they work without something that jobs do not need."""
    return _cluster_alarms_facts()["starts_degraded"]


def cluster_log_group() -> str:
    """Return what the names of HyperPod's log groups begin with, before `/<cluster>/<id>`."""
    return _cluster_alarms_facts()["log_group"]


def log_retention_days() -> int:
    """Return for how many days they are kept unless somebody says otherwise."""
    return _cluster_alarms_facts()["log_retention_days"]


@cache
def storage_facts() -> StorageFacts:
    """Return the metrics of file systems and of the accounting database."""
    lustre, openzfs, database = (_cluster_alarms_facts()[name] for name in ("lustre", "openzfs", "database"))
    return StorageFacts(
        fsx_namespace=lustre["namespace"],
        lustre_free=lustre["free"],
        lustre_free_gib_of_a_target=lustre["free_gib_of_a_target"],
        openzfs_used=openzfs["used"],
        openzfs_capacity=openzfs["capacity"],
        database_namespace=database["namespace"],
        database_free_of_instance=database["free_of_instance"],
        database_free_gib=database["free_gib"],
        database_connections=database["connections"],
    )


@cache
def parallelcluster_metrics() -> ParallelClusterMetrics:
    """Return what ParallelCluster counts."""
    return ParallelClusterMetrics(**_cluster_alarms_facts()["parallelcluster"])


@cache
def chat_facts() -> ChatFacts:
    """Return the forms of a chat's ids, and what its role reads."""
    facts = dict(_cluster_alarms_facts()["chat"])
    reads = tuple(facts.pop("reads"))
    return ChatFacts(reads=reads, **{name: Limit(**limit) for name, limit in facts.items()})


@cache
def fleet_budget_facts() -> FleetBudgetFacts:
    """Return what AWS Budgets allows, and what its action takes away."""
    facts = _cluster_alarms_facts()["budget"]
    return FleetBudgetFacts(
        at_percent=tuple(facts["at_percent"]),
        denied=tuple(facts["denied"]),
        **{name: Limit(**facts[name]) for name in ("notifications", "emails", "roles")},
    )
