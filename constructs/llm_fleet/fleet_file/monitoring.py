"""What is watched of a fleet, and who is told: what a fleet file names of the fleet itself."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field

from llm_fleet.spec.monitoring import ClusterAlarms, ClusterMetrics, FleetBudget, MonitoringSpec
from llm_fleet.spec.values import TopicArn
from llm_fleet.spec.watch import WatchSpec

# Pyright does not see that models are frozen, where an attribute may have a narrower type.
# pyright: reportIncompatibleVariableOverride=false


class MetricsConfig(ClusterMetrics):
    """What nodes of clusters measure of themselves each minute, and where it goes."""

    grafana: bool | None = None
    """Whether a workspace of Amazon Managed Grafana is made that reads the Prometheus workspace. Default: no.

    People sign in by IAM Identity Center, which the account must have."""


class ClusterAlarmsConfig(ClusterAlarms):
    """Who is told of clusters, and from when on. An ARN is short for the topic alone."""

    events: bool = True
    """Whether events of HyperPod clusters are told too, with their reasons: by the fleet's `watch`, or one for that.

    Default: yes.
    """


class FleetBudgetConfig(FleetBudget):
    """A monthly sum, who is told when it is used up, and who may start nothing more then."""

    tag: str | None = None
    """Key of `tags` by which costs are counted; it must be activated for billing, or nothing counts.

    Default: all of the account.
    """


class MonitoringConfig(MonitoringSpec):
    """What is watched of clusters and what they stand on, who is told, and what a month may cost."""

    metrics: MetricsConfig | None = None
    """What nodes measure of themselves, and where it goes. Default: nothing is measured."""
    alarms: ClusterAlarmsConfig = ClusterAlarmsConfig()
    """Who is told, and from when on. Default: a topic of its own, to which you subscribe."""
    budget: FleetBudgetConfig | None = None
    """What a month may cost. Default: no budget."""
    clusters: tuple[str, ...] | None = None
    """Clusters of the fleet that are watched. Default: all of them."""

    def in_fleet(self, tags: Mapping[str, str]) -> MonitoringSpec:
        """Return it with the value that the tag of its budget has in `tags` of the fleet."""
        budget = self.budget
        tag = (budget.tag, tags[budget.tag]) if budget is not None and budget.tag is not None else None
        return self.narrowed(MonitoringSpec, budget=budget and budget.narrowed(FleetBudget, tag=tag))

    def watched_of(self, clusters: Iterable[str]) -> list[str]:
        """Return which of `clusters`, by their keys, are watched, in their order."""
        return [key for key in clusters if self.clusters is None or key in self.clusters]


class WatchConfig(WatchSpec):
    """What starts training jobs again that failed, stops those that run in vain, and reports events of clusters."""

    clusters: tuple[str, ...] | None = None
    """HyperPod clusters of the fleet whose events are told. Default: all of them."""
    topic_arn: Annotated[TopicArn | None, Field(alias="topic")] = None
    """ARN of the SNS topic that is told. Default: one of its own, to which you subscribe."""
