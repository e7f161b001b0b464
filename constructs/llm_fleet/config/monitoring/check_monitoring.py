"""The monitoring of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.monitoring.alarms import ClusterAlarmsConfig
from llm_fleet.config.monitoring.budget import FleetBudgetConfig
from llm_fleet.config.monitoring.monitoring import MonitoringConfig
from llm_fleet.rules.monitoring.alarm_codes import AlarmCode
from llm_fleet.rules.monitoring.chat import check_slack, check_teams
from llm_fleet.rules.monitoring.fleet_budget import check_budget_tag, check_fleet_budget
from llm_fleet.rules.monitoring.thresholds import check_cluster_thresholds
from llm_fleet.rules.monitoring.watched import check_something_watched, check_watched_names
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.values import check_emails, check_retention_days


def check_monitoring(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the monitoring of `fleet`, by attribute names."""
    config = fleet.monitoring
    if config is None:
        return
    found = [
        *_check_alarms(config.alarms),
        *_check_retention(config.log_retention_days),
        *check_watched_names(config.clusters or (), known=list(fleet.clusters)),
        *(_check_budget(config.budget, fleet) if config.budget else ()),
        *check_something_watched(parts=_parts(fleet, config), budget=config.budget is not None),
    ]
    yield from (problem.under("monitoring") for problem in found)


def _check_retention(days: int | None) -> Iterator[Problem]:
    """In the file a number of days has its unit, in the remedy too."""
    for problem in check_retention_days(days, AlarmCode.MONITORING_RETENTION, "log_retention_days"):
        yield replace(problem, remedy=f"{problem.remedy} days")


def _check_alarms(alarms: ClusterAlarmsConfig) -> Iterator[Problem]:
    yield from (
        problem.under("alarms") for problem in check_emails(alarms.emails, AlarmCode.MONITORING_EMAIL, "emails")
    )
    thresholds = check_cluster_thresholds(alarms.thresholds)
    yield from (problem.under("alarms", "thresholds") for problem in thresholds)
    if alarms.slack:
        yield from (problem.under("alarms", "slack") for problem in check_slack(alarms.slack))
    if alarms.teams:
        yield from (problem.under("alarms", "teams") for problem in check_teams(alarms.teams))


def _check_budget(budget: FleetBudgetConfig, fleet: Fleet) -> Iterator[Problem]:
    for problem in [*check_fleet_budget(budget), *check_budget_tag(budget.tag, fleet.tags)]:
        yield _at_roles(problem).under("budget")
    if budget.deny is not None and not budget.deny.roles:
        yield Problem(
            code=AlarmCode.FLEET_BUDGET_ROLE,
            path=("budget", "deny", "roles"),
            message="nothing would be denied to anybody: there is no role",
            remedy="write `roles: [ml-engineers]`, with names of your own, or leave `deny` out",
        )


def _at_roles(problem: Problem) -> Problem:
    """Return `problem` where the file has the roles: below `deny`."""
    if problem.path[:1] != ("deny_roles",):
        return problem
    return replace(problem, path=("deny", "roles", *problem.path[1:]))


def _parts(fleet: Fleet, config: MonitoringConfig) -> int:
    clusters = fleet.clusters if config.clusters is None else config.clusters
    storage = fleet.storage
    return len(clusters) + sum(part is not None for part in (storage.fsx, storage.home, storage.slurm_database))
