"""SageMaker Studio."""

from llm_fleet.config.model import FleetModel


class StudioConfig(FleetModel):
    """A domain of SageMaker Studio, and who works in it."""
