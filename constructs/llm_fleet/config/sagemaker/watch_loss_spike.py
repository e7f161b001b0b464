"""A loss that spikes."""

from pydantic import Field

from llm_fleet.config.sagemaker.watch_values import Minutes
from llm_fleet.spec.model import FleetModel


class LossSpikeConfig(FleetModel):
    """A loss well above the best of late (`LossSpikeLike`). The name of a metric is short for it alone."""

    metric: str = Field(examples=["train:loss"])
    """Name of the job's metric that reads the loss."""
    factor: float | None = None
    """How many times the smallest minute of the window. Default: 2."""
    minutes: Minutes | None = Field(default=None, alias="for")
    """How many minutes of the window must be so bad. Default: `3 min`."""
    window_minutes: Minutes | None = Field(default=None, alias="window")
    """How far back it looks. Default: `30 min`."""
