"""What the fleet file says of monitoring, as its constructs take it."""

from collections.abc import Sequence

from llm_fleet.config.cluster import HyperPodConfig
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.monitoring.alarms import ClusterAlarmsConfig
from llm_fleet.config.monitoring.budget import FleetBudgetConfig
from llm_fleet.config.monitoring.monitoring import MonitoringConfig
from llm_fleet.config.monitoring.thresholds import ClusterThresholdsConfig
from llm_fleet.config.parallelcluster import ParallelClusterConfig
from llm_fleet.monitoring.chat_channel import Chat, SlackChannel, TeamsChannel
from llm_fleet.monitoring.fleet_budget import FleetBudget
from llm_fleet.monitoring.monitored_cluster import ClusterAlarmThresholds, MonitoredCluster
from llm_fleet.needs.fleet_machines import machines_of
from llm_fleet.needs.machines import facts_of_machines
from llm_fleet.rules.monitoring.metrics_terms import MetricsDestination


def thresholds_from(config: ClusterThresholdsConfig) -> ClusterAlarmThresholds:
    """Return the thresholds that `config` describes."""
    return ClusterAlarmThresholds(
        node_failed_minutes=config.node_failed_minutes,
        stuck_pending_minutes=config.stuck_pending_minutes,
        idle_percent=config.idle_percent,
        idle_minutes=config.idle_minutes,
        unused_minutes=config.unused_minutes,
        disk_percent=config.disk_percent,
        file_system_percent=config.file_system_percent,
        queue_wait_minutes=config.queue_wait_minutes,
        nodes_down_minutes=config.nodes_down_minutes,
        silent_minutes=config.silent_minutes,
    )


def chats_from(config: ClusterAlarmsConfig) -> list[Chat]:
    """Return the channels that `config` names."""
    slack, teams = config.slack, config.teams
    told: list[Chat] = []
    if slack is not None:
        told.append(SlackChannel(workspace_id=slack.workspace_id, channel_id=slack.channel_id))
    if teams is not None:
        told.append(TeamsChannel(team_id=teams.team_id, tenant_id=teams.tenant_id, channel_id=teams.channel_id))
    return told


def budget_from(config: FleetBudgetConfig | None, fleet: Fleet) -> FleetBudget | None:
    """Return the budget that `config` describes."""
    if config is None:
        return None
    return FleetBudget(
        monthly_usd=config.monthly_usd,
        at_percent=config.at_percent,
        forecast=config.forecast,
        emails=config.emails,
        tag=(config.tag, fleet.tags[config.tag]) if config.tag is not None else None,
        deny_roles=config.deny.roles if config.deny else (),
        deny_automatically=config.deny is not None and config.deny.automatically,
    )


def watched_keys(config: MonitoringConfig, fleet: Fleet) -> Sequence[str]:
    """Return the keys of the clusters that are watched, in the order of the file."""
    return [key for key in fleet.clusters if config.clusters is None or key in config.clusters]


def monitored_from(key: str, name: str, fleet: Fleet) -> MonitoredCluster:
    """Return the cluster `key` of the file; `name` is what the service calls it."""
    config: HyperPodConfig | ParallelClusterConfig = fleet.clusters[key]
    metrics = fleet.monitoring.metrics if fleet.monitoring else None
    published = metrics is not None and metrics.destination == MetricsDestination.CLOUDWATCH
    accelerators = _has_accelerators(key, fleet)
    if isinstance(config, HyperPodConfig):
        return MonitoredCluster.hyperpod(name, node_metrics=published, accelerators=accelerators)
    return MonitoredCluster.parallelcluster(
        name, node_metrics=published, accelerators=accelerators, published_as=config.cluster_name
    )


def _has_accelerators(key: str, fleet: Fleet) -> bool:
    """Return whether a machine of the cluster `key` may have any; one that the catalog does not know may."""
    own = [machines for machines in machines_of(fleet) if machines.path[:2] == ("clusters", key)]
    facts = [facts_of_machines(machines) for machines in own]
    return any(fact is None or fact.accelerators for fact in facts)
