"""What stays after a training job for the next one."""

from pydantic import Field

from llm_fleet.catalog.training_jobs import training_job_fact
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Seconds


class JobWarmPoolConfig(FleetModel):
    """Instances that stay, and are paid in full, so that the next job starts within seconds (`WarmPoolLike`)."""

    keep_alive_seconds: Seconds = Field(alias="keep", examples=["30 min"])
    """For how long after the job's end."""
    cap_seconds: Seconds = Field(default=training_job_fact("warm_pool")["cap_seconds"], alias="cap")
    """For how long at most, whatever a start of the job asks for; a policy sees to it. Default: `1 h`."""
