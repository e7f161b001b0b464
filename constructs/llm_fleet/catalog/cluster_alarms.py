"""What is watched of clusters by the account, from when on somebody is called, and what chats and budgets allow."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit


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


def _facts() -> dict[str, Any]:
    return load("cluster_alarms")


@cache
def account_metrics() -> AccountMetrics:
    """Return what our own function publishes."""
    facts = dict(_facts()["account"])
    return AccountMetrics(metrics=MappingProxyType(facts.pop("metrics")), **facts)


@cache
def alarm_thresholds() -> Mapping[str, float]:
    """Return from when on each alarm rings, by the names of `ClusterAlarmThresholds`."""
    return MappingProxyType(_facts()["thresholds"])


@cache
def alarm_minutes() -> Limit:
    """Return over how many minutes an alarm may look."""
    facts = _facts()
    return Limit(minimum=facts["shortest_minutes"], maximum=facts["longest_minutes"])


def start_failures_metric() -> str:
    """Return the metric by which nodes tell that their start has failed, in the namespace of their other metrics."""
    return _facts()["start_failures"]


def starts_degraded_metric() -> str:
    """Return the metric by which nodes tell that they work without something that jobs do not need."""
    return _facts()["starts_degraded"]


def cluster_log_group() -> str:
    """Return what the names of HyperPod's log groups begin with, before `/<cluster>/<id>`."""
    return _facts()["log_group"]


def log_retention_days() -> int:
    """Return for how many days they are kept unless somebody says otherwise."""
    return _facts()["log_retention_days"]


@cache
def storage_facts() -> StorageFacts:
    """Return the metrics of file systems and of the accounting database."""
    lustre, openzfs, database = (_facts()[name] for name in ("lustre", "openzfs", "database"))
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
    return ParallelClusterMetrics(**_facts()["parallelcluster"])


@cache
def chat_facts() -> ChatFacts:
    """Return the forms of a chat's ids, and what its role reads."""
    facts = dict(_facts()["chat"])
    reads = tuple(facts.pop("reads"))
    return ChatFacts(reads=reads, **{name: Limit(**limit) for name, limit in facts.items()})


@cache
def fleet_budget_facts() -> FleetBudgetFacts:
    """Return what AWS Budgets allows, and what its action takes away."""
    facts = _facts()["budget"]
    return FleetBudgetFacts(
        at_percent=tuple(facts["at_percent"]),
        denied=tuple(facts["denied"]),
        **{name: Limit(**facts[name]) for name in ("notifications", "emails", "roles")},
    )
