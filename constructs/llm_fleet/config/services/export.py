"""The task that compiles a model."""

from llm_fleet.config.model import FleetModel


class ExportConfig(FleetModel):
    """A task that compiles the model for Neuron with the serving image, and writes it where `model` says."""
