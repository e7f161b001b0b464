"""When HyperPod updates a group's software."""

from pydantic import Field

from llm_fleet.config.rolling import RollingConfig
from llm_fleet.spec.model import FleetModel


class ScheduleConfig(FleetModel):
    """When HyperPod brings the nodes of a group to its newest image. An update wipes their root volumes."""

    schedule_expression: str = Field(alias="cron", examples=["cron(0 3 ? * SUN *)"])
    """When, in UTC, as `cron(minute hour day month weekday year)`, e.g. `cron(0 3 ? * SUN *)`."""
    deployment: RollingConfig | None = Field(default=None, alias="rolling")
    """How it rolls over the group. Default: all nodes at once."""
