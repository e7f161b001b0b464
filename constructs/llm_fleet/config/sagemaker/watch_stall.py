"""A job that stands still."""

from pydantic import Field

from llm_fleet.config.sagemaker.watch_values import Minutes
from llm_fleet.spec.model import FleetModel


class StallConfig(FleetModel):
    """A metric of which nothing comes any more (`StallLike`). The name of a metric is short for it alone."""

    metric: str = Field(examples=["train:loss"])
    """Name of one of the job's metrics that each step writes."""
    minutes: Minutes | None = Field(default=None, alias="for")
    """How long nothing may come. Default: `15 min`."""
