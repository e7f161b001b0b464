"""Automatic backups of a file system."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Days


class BackupsConfig(FleetModel):
    """Daily backups that FSx makes by itself."""

    retention_days: Days | None = Field(default=None, alias="keep")
    """How long each is kept, at most `90 days`; `0 days` for none. Default: as the file system says."""
    start_time: str | None = Field(default=None, alias="at")
    """When, as `HH:MM` in UTC. Default: FSx picks a time."""
