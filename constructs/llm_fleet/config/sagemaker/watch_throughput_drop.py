"""A job that has become slow."""

from pydantic import Field

from llm_fleet.config.sagemaker.watch_values import Minutes
from llm_fleet.spec.model import FleetModel


class ThroughputDropConfig(FleetModel):
    """A throughput well below the best of late (`ThroughputDropLike`). The name of a metric is short for it alone."""

    metric: str = Field(examples=["train:tokens_per_second"])
    """Name of the job's metric that reads the throughput."""
    below_fraction: float | None = Field(default=None, alias="below")
    """Of the best minute of the window. Default: 0.5."""
    minutes: Minutes | None = Field(default=None, alias="for")
    """How many minutes of the window must be so bad. Default: `10 min`."""
    window_minutes: Minutes | None = Field(default=None, alias="window")
    """How far back it looks. Default: `30 min`."""
