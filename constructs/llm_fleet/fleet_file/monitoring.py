"""Monitoring of a fleet file: the descriptions, with references to the rest of the fleet."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field

from llm_fleet.spec.monitoring import ClusterAlarms, ClusterMetrics, FleetBudget, MonitoringSpec
from llm_fleet.spec.values import TopicArn
from llm_fleet.spec.watch import WatchSpec

# Pyright does not know that models are frozen, so that an attribute may have a narrower type.
# pyright: reportIncompatibleVariableOverride=false


class MetricsConfig(ClusterMetrics):
    """Metrics that nodes of clusters measure each minute, and their destination."""

    grafana: bool | None = None
    """Whether a workspace of Amazon Managed Grafana is created for the Prometheus workspace. Default: no.

    Users sign in with IAM Identity Center, which the account must have."""


class ClusterAlarmsConfig(ClusterAlarms):
    """Notifications and thresholds of the alarms of clusters. An ARN is short for `topic` alone."""

    events: bool = True
    """Whether notifications are also sent for events of HyperPod clusters, with their reasons, by the fleet's `watch`
    or one that is created for it.

    Default: yes.
    """


class FleetBudgetConfig(FleetBudget):
    """A monthly budget, its notifications, and the roles that can start nothing more when it is spent."""

    tag: str | None = None
    """Key of `tags` that is the cost allocation tag of the budget. Activate the tag in Billing, otherwise nothing
    counts.

    Default: all costs of the account.
    """


class MonitoringConfig(MonitoringSpec):
    """Monitoring of clusters and the resources that they use, notifications, and the monthly budget."""

    metrics: MetricsConfig | None = None
    """Metrics of nodes, and their destination. Default: nothing is measured."""
    alarms: ClusterAlarmsConfig = ClusterAlarmsConfig()
    """Notifications and thresholds of alarms. Default: an SNS topic is created, to which you can subscribe."""
    budget: FleetBudgetConfig | None = None
    """Monthly budget. Default: none."""
    clusters: tuple[str, ...] | None = None
    """Clusters of the fleet that are monitored. Default: all."""

    def in_fleet(self, tags: Mapping[str, str]) -> MonitoringSpec:
        """Return the description with the tag of its budget and the tag's value in `tags` of the fleet."""
        budget = self.budget
        tag = (budget.tag, tags[budget.tag]) if budget is not None and budget.tag is not None else None
        return self.narrowed(MonitoringSpec, budget=budget and budget.narrowed(FleetBudget, tag=tag))

    def watched_of(self, clusters: Iterable[str]) -> list[str]:
        """Return the keys of the monitored clusters, in the order of `clusters`."""
        return [key for key in clusters if self.clusters is None or key in self.clusters]


class WatchConfig(WatchSpec):
    """Restarts failed training jobs, stops jobs that make no progress, and reports events of clusters."""

    clusters: tuple[str, ...] | None = None
    """HyperPod clusters of the fleet whose events are reported. Default: all."""
    topic_arn: Annotated[TopicArn | None, Field(alias="topic")] = None
    """ARN of the SNS topic for notifications. Default: a topic is created, to which you can subscribe."""
