"""A loss that is no number any more."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class NotANumberConfig(FleetModel):
    """A metric that has values only when the loss has none (`NotANumber`). Its name is short for it."""

    metric: str = Field(examples=["train:loss_nan"])
    """Name of the job's metric whose regex captures a number, e.g. the step, from lines whose loss is NaN."""
