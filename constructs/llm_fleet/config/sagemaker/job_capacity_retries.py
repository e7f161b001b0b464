"""What is done when there are no machines for a training job."""

from pydantic import Field

from llm_fleet.catalog.job_machine import job_machine_fact
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Seconds


class JobCapacityRetriesConfig(FleetModel):
    """Further jobs after one that found no capacity (`CapacityRetriesLike`); a watch does this in their place."""

    attempts: int = job_machine_fact("capacity_attempts")["default"]
    """How many after the first, 0 to 20. Default: 5."""
    first_wait_seconds: Seconds | None = Field(default=None, alias="first_wait")
    """Before the second job; doubled before each further one. Default: `5 min`."""
    longest_wait_seconds: Seconds | None = Field(default=None, alias="longest_wait")
    """However often it was doubled. Default: `1 h`, or the first wait where that is longer."""
