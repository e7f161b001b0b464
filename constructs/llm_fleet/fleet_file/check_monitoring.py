"""The monitoring of a fleet file, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.feature_codes import AlarmCode, MetricsCode
from llm_fleet.rules.monitoring import (
    check_budget_tag,
    check_metrics,
    check_monitoring_spec,
    check_something_watched,
    check_watched_names,
)
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.monitoring import MetricsDestination


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
