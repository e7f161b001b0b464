"""Where nodes' metrics go, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.monitoring.metrics import MetricsConfig
from llm_fleet.rules.monitoring.metrics import check_metrics
from llm_fleet.rules.monitoring.metrics_codes import MetricsCode
from llm_fleet.rules.monitoring.metrics_terms import MetricsDestination
from llm_fleet.rules.problem import Problem


def check_metrics_config(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with where the metrics of `fleet` go, by attribute names."""
    config = _metrics(fleet)
    if config is None:
        return
    for problem in check_metrics(config, region=fleet.region):
        yield _with_unit(problem).under("monitoring", "metrics")


def writes_to_prometheus(fleet: Fleet) -> bool:
    """Return whether nodes of `fleet` write to a workspace of Amazon Managed Service for Prometheus."""
    config = _metrics(fleet)
    return config is not None and config.destination is MetricsDestination.PROMETHEUS and bool(fleet.clusters)


def _metrics(fleet: Fleet) -> MetricsConfig | None:
    return fleet.monitoring.metrics if fleet.monitoring is not None else None


def _with_unit(problem: Problem) -> Problem:
    """In the file a number of days has its unit, in the remedy too."""
    is_days = problem.code is MetricsCode.RETENTION
    return replace(problem, remedy=f"{problem.remedy} days") if is_days else problem
