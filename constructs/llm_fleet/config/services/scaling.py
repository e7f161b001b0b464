"""By what a service grows and shrinks."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class ScalingConfig(FleetModel):
    """By what a service grows and shrinks between `min` and `max`."""

    queue_target: float | None = Field(default=None, alias="queue")
    """Requests that may wait in a task on average, beside the batch that is being generated. Default: 1."""
    requests_per_minute_target: float | None = Field(default=None, alias="requests_per_minute")
    """Requests that a task shall get in a minute, in place of the queue. Default: the queue is followed."""
