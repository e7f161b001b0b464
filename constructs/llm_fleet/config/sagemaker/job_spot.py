"""Spot instances of a training job."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Seconds


class JobSpotConfig(FleetModel):
    """Capacity that AWS may take back; the script is then started again with its checkpoints (`SpotLike`)."""

    max_wait_seconds: Seconds | None = Field(default=None, alias="max_wait")
    """For how long the job may wait and run altogether. Default: a day more than it may run."""
