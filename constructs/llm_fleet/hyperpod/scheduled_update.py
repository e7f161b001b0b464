"""When HyperPod brings a group's nodes to the newest image."""

from dataclasses import dataclass

from llm_fleet.hyperpod.rolling_update import RollingUpdate


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledUpdate:
    """When HyperPod brings a group's nodes to the newest image (`ScheduledUpdateConfig`). It wipes root volumes."""

    schedule_expression: str
    """When, in UTC, e.g. `cron(0 3 ? * SUN *)`: minute, hour, day, month, weekday, year."""
    deployment: RollingUpdate | None = None
    """How it rolls over the group. Default: all nodes at once."""
