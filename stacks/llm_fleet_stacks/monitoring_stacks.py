"""The stacks of a fleet's monitoring and of its nodes' metrics. Monitoring is retained when clusters are deleted."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.fleet_file.clusters import HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.monitoring import MetricsConfig, MonitoringConfig
from llm_fleet.monitoring.cluster_monitoring import ClusterMonitoring
from llm_fleet.monitoring.grafana import GrafanaWorkspace, PrometheusWorkspace
from llm_fleet.monitoring.monitored_cluster import MonitoredCluster
from llm_fleet.needs.machines import facts_of_machines, machines_of
from llm_fleet.notifications.alarm_topic import AlarmTopic
from llm_fleet.spec.monitoring import ClusterMetrics, MetricsDestination
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.storage_stacks import Ground


class MonitoringStack(FleetStack):
    """Alarms on clusters, file systems and accounting, their SNS topic, a dashboard, and a budget.

    It refers to clusters only by name, and is deployed before them: a log group has its retention before a node
    writes, and a failed creation is reported. So the clusters' stacks depend on it.
    """

    def __init__(self, scope: Construct, *, config: MonitoringConfig, ground: Ground) -> None:
        """Make what `config` describes of the fleet of `ground`."""
        fleet, storage, clusters = ground.fleet, ground.storage, ground.clusters
        super().__init__(
            scope, "monitoring", fleet=fleet, env=ground.env, description="Alarms, dashboard and budget of an LLM fleet"
        )
        self.monitoring = ClusterMonitoring(
            self,
            "Monitoring",
            config.in_fleet(fleet.tags),
            name=fleet.name,
            clusters=[
                monitored_cluster(key, clusters[key].cluster_name, fleet) for key in config.watched_of(fleet.clusters)
            ],
            lustre=storage.lustre,
            open_zfs=storage.open_zfs,
            database=ground.database,
        )
        """The monitoring."""
        for cluster in clusters.values():
            cdk.Stack.of(cluster).add_stack_dependency(
                self, reason="a cluster's log group is made while it is being created"
            )
        topic_arn = self.monitoring.topic.topic_arn
        cdk.CfnOutput(self, "AlarmTopicArn", value=topic_arn, description="SNS topic of the alarms")
        if self.monitoring.observer is not None:
            function = self.monitoring.observer.function.function.ref
            cdk.CfnOutput(self, "Observer", value=function, description="The function that checks clusters")

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        topic = self.monitoring.topic
        self.offer(topic.topic_arn, topic.key_arn if isinstance(topic, AlarmTopic) else None)


def monitored_cluster(key: str, name: str, fleet: Fleet) -> MonitoredCluster:
    """Return the cluster `key` of the file; `name` is what the service calls it."""
    config = fleet.clusters[key]
    metrics = fleet.monitoring.metrics if fleet.monitoring else None
    published = metrics is not None and metrics.destination == MetricsDestination.CLOUDWATCH
    accelerators = _has_accelerators(key, fleet)
    if isinstance(config, HyperPodConfig):
        return MonitoredCluster.hyperpod(name, node_metrics=published, accelerators=accelerators)
    return MonitoredCluster.parallelcluster(
        name, node_metrics=published, accelerators=accelerators, published_as=config.cluster_name
    )


def _has_accelerators(key: str, fleet: Fleet) -> bool:
    """Return whether a machine of the cluster `key` may have any; true if the catalog does not have its type."""
    own = [machines for machines in machines_of(fleet) if machines.path[:2] == ("clusters", key)]
    facts = [facts_of_machines(machines) for machines in own]
    return any(fact is None or fact.accelerators for fact in facts)


class MetricsStack(FleetStack):
    """A workspace of Amazon Managed Service for Prometheus, which is retained, and one of Amazon Managed Grafana."""

    def __init__(self, scope: Construct, *, config: MetricsConfig, fleet: Fleet, env: cdk.Environment) -> None:
        """Create the workspaces of `config` that do not exist already."""
        super().__init__(scope, "metrics", fleet=fleet, env=env, description="Metrics of an LLM fleet's nodes")
        if config.workspace_arn is not None:
            self.metrics = ClusterMetrics.prometheus(workspace_arn=config.workspace_arn)
        else:
            workspace = PrometheusWorkspace(self, "Prometheus", alias=fleet.name)
            workspace.add_outputs()
            self.metrics = workspace.metrics
        if config.grafana:
            arn = self.metrics.workspace_arn or ""
            GrafanaWorkspace(self, "Grafana", name=fleet.name, prometheus_arn=arn).add_outputs()

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        self.offer(self.metrics.workspace_arn)


def metrics_of(
    scope: Construct, fleet: Fleet, env: cdk.Environment
) -> tuple[MetricsStack | None, Mapping[str, ClusterMetrics]]:
    """Return the stack for the metrics of `fleet`, if one is needed, and where metrics go, by the clusters' keys."""
    config = fleet.monitoring.metrics if fleet.monitoring is not None else None
    if fleet.monitoring is None or config is None or not fleet.clusters:
        return None, {}
    watched = fleet.monitoring.watched_of(fleet.clusters)
    if config.destination is MetricsDestination.NONE:
        return None, {}
    if config.destination is MetricsDestination.CLOUDWATCH:
        return None, dict.fromkeys(watched, ClusterMetrics.cloudwatch(retention_days=config.retention_days))
    if config.workspace_arn is not None and not config.grafana:
        return None, dict.fromkeys(watched, ClusterMetrics.prometheus(workspace_arn=config.workspace_arn))
    stack = MetricsStack(scope, config=config, fleet=fleet, env=env)
    return stack, dict.fromkeys(watched, stack.metrics)
