"""When a training job is started by itself."""

from collections.abc import Mapping

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class JobScheduleConfig(FleetModel):
    """A schedule that starts the job, whether the last run has ended or not (`JobScheduleLike`)."""

    expression: str = Field(alias="when", examples=["cron(0 3 ? * SUN *)"])
    """`cron(minute hour day month weekday year)`, `rate(7 days)` or `at(2026-12-24T03:00:00)`."""
    time_zone: str = Field(default="UTC", examples=["Europe/Vienna"])
    """In which `cron` and `at` count. Default: `UTC`."""
    enabled: bool = True
    """`false` keeps the schedule, and it starts nothing. Default: `true`."""
    hyperparameters: Mapping[str, str] = {}
    """What scheduled runs have otherwise, in quotes where they are numbers. Default: nothing."""
