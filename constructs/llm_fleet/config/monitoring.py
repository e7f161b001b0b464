"""What is watched of a fleet, and who is told: what a fleet file names of the fleet itself."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.feature_codes import AlarmCode, MetricsCode
from llm_fleet.rules.monitoring import (
    check_budget_tag,
    check_metrics,
    check_monitoring_spec,
    check_something_watched,
    check_watched_names,
)
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.monitoring import (
    ClusterAlarms,
    ClusterMetrics,
    FleetBudget,
    MetricsDestination,
    MonitoringSpec,
)

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

    def watched_in(self, fleet: Fleet) -> list[str]:
        """Return the keys of the clusters of `fleet` that are watched, in the order of the file."""
        return [key for key in fleet.clusters if self.clusters is None or key in self.clusters]


def check_monitoring(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the monitoring of `fleet`, by attribute names."""
    config = fleet.monitoring
    if config is None:
        return
    budget, metrics = config.budget, config.metrics
    storage = fleet.storage
    parts = [part for part in (storage.fsx, storage.home, storage.slurm_database) if part is not None]
    clusters = fleet.clusters if config.clusters is None else config.clusters
    found = [
        *check_monitoring_spec(config),
        *check_watched_names(config.clusters or (), known=list(fleet.clusters)),
        *(each.under("budget") for each in (check_budget_tag(budget.tag, fleet.tags) if budget else ())),
        *check_something_watched(parts=len(clusters) + len(parts), budget=budget is not None),
        *(each.under("metrics") for each in (check_metrics(metrics, region=fleet.region) if metrics else ())),
    ]
    yield from (_with_unit(problem).under("monitoring") for problem in found)


def writes_to_prometheus(fleet: Fleet) -> bool:
    """Return whether nodes of `fleet` write to a workspace of Amazon Managed Service for Prometheus."""
    metrics = fleet.monitoring.metrics if fleet.monitoring is not None else None
    return metrics is not None and metrics.destination is MetricsDestination.PROMETHEUS and bool(fleet.clusters)


def _with_unit(problem: Problem) -> Problem:
    """In the file a number of days has its unit, in the remedy too."""
    is_days = problem.code in (AlarmCode.MONITORING_RETENTION, MetricsCode.RETENTION)
    return replace(problem, remedy=f"{problem.remedy} days") if is_days else problem
