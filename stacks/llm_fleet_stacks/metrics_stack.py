"""The stack of what nodes' metrics go to, where that is Prometheus. It outlives the clusters."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.monitoring.metrics import MetricsConfig
from llm_fleet.lifecycle.cluster_metrics import ClusterMetrics
from llm_fleet.monitoring.grafana import GrafanaWorkspace, PrometheusWorkspace
from llm_fleet.rules.monitoring.metrics_terms import MetricsDestination
from llm_fleet_stacks.fleet_stack import FleetStack


class MetricsStack(FleetStack):
    """A workspace of Amazon Managed Service for Prometheus, which is retained, and one of Amazon Managed Grafana."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: MetricsConfig,
        fleet_name: str,
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Make what `config` asks for and does not name as there already."""
        super().__init__(scope, id, description="Metrics of an LLM fleet's nodes", env=env, tags=tags)
        if config.workspace_arn is not None:
            self.metrics = ClusterMetrics.prometheus(workspace_arn=config.workspace_arn)
        else:
            workspace = PrometheusWorkspace(self, "Prometheus", alias=fleet_name)
            workspace.add_outputs()
            self.metrics = workspace.metrics
        if config.grafana:
            arn = self.metrics.workspace_arn or ""
            GrafanaWorkspace(self, "Grafana", name=fleet_name, prometheus_arn=arn).add_outputs()

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
    watched = fleet.clusters if fleet.monitoring.clusters is None else fleet.monitoring.clusters
    if config.destination is MetricsDestination.NONE:
        return None, {}
    if config.destination is MetricsDestination.CLOUDWATCH:
        return None, dict.fromkeys(watched, ClusterMetrics.cloudwatch(retention_days=config.retention_days))
    if config.workspace_arn is not None and not config.grafana:
        return None, dict.fromkeys(watched, ClusterMetrics.prometheus(workspace_arn=config.workspace_arn))
    stack = MetricsStack(scope, f"{fleet.name}-metrics", config=config, fleet_name=fleet.name, env=env, tags=fleet.tags)
    return stack, dict.fromkeys(watched, stack.metrics)
