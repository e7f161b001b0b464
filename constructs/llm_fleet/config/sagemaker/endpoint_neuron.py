"""What a model on Neuron is compiled for."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class EndpointNeuronConfig(FleetModel):
    """Cores, batch and length that a model is compiled for, or was (`NeuronSettingsLike`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "tensor_parallel": "write `cores`",
        "batch_size": "write `batch`",
        "sequence_length": "write `length`",
    }

    cores: int | None = None
    """Over how many NeuronCores. Default: all of the instance."""
    batch_size: int = Field(default=1, alias="batch")
    """How many requests at once. Default: 1."""
    sequence_length: int = Field(default=2048, alias="length")
    """How many tokens a request and its answer have together. Default: 2048."""
