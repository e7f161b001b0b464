"""What is watched of a fleet, and who is told."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.monitoring.alarms import ClusterAlarmsConfig, or_topic
from llm_fleet.config.monitoring.budget import FleetBudgetConfig
from llm_fleet.config.monitoring.metrics import MetricsConfig, or_destination
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Days


class MonitoringConfig(FleetModel):
    """What is watched of clusters and what they stand on, who is told, and what a month may cost."""

    other_words: ClassVar[Mapping[str, str]] = {
        "thresholds": "write it below `alarms`",
        "topic": "write it below `alarms`",
        "retention": "write `logs`",
        "except": "write `clusters`: those that are watched",
    }

    metrics: MetricsConfig | None = Field(default=None, json_schema_extra=or_destination)
    """What nodes measure of themselves, and where it goes. Default: nothing is measured."""
    alarms: ClusterAlarmsConfig = Field(default=ClusterAlarmsConfig(), json_schema_extra=or_topic)
    """Who is told, and from when on. Default: a topic of its own, to which you subscribe."""
    dashboard: bool = True
    """Whether there is a dashboard. Default: yes."""
    log_retention_days: Days | None = Field(default=None, alias="logs")
    """How long the logs of HyperPod's nodes are kept. Default: `180 days`."""
    budget: FleetBudgetConfig | None = None
    """What a month may cost. Default: no budget."""
    clusters: tuple[str, ...] | None = None
    """Clusters of the fleet that are watched. Default: all of them."""
