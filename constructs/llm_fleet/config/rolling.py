"""How an update rolls over a group."""

from pydantic import Field

from llm_fleet.config.batch import BatchSize
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Seconds


class RollingConfig(FleetModel):
    """How an update rolls over the nodes of a group. Default of all of it: the service's own way, all at once."""

    maximum_batch_size: BatchSize | None = Field(default=None, alias="batch")
    """How many nodes are out of service at once: `2 nodes` or `25%`. Default: all of the group."""
    rollback_maximum_batch_size: BatchSize | None = Field(default=None, alias="rollback_batch")
    """The same on the way back. Default: as on the way out."""
    wait_interval_seconds: Seconds | None = Field(default=None, alias="wait")
    """Pause between two batches, e.g. `5 min`, at most an hour. Default: none."""
    alarm_names: tuple[str, ...] = Field(default=(), alias="alarms")
    """CloudWatch alarms by name, any of which makes the update roll back. Default: none."""
