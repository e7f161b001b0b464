"""What a model on Neuron is compiled for."""

from dataclasses import dataclass

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.endpoint_neuron import check_neuron_alone


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronSettings:
    """Cores, batch and length that a model is compiled for, or was: an exported one takes no others.

    Raises `FleetError` for a number that is none (LF940).
    """

    cores: int | None = None
    """Over how many NeuronCores. Default: all of the instance."""
    batch_size: int = 1
    """How many requests at once. Default: 1, as optimum-neuron's own."""
    sequence_length: int = 2048
    """How many tokens a request and its answer have together. Default: 2048, as optimum-neuron's own."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with all that is wrong."""
        raise_problems(check_neuron_alone(self), subject="NeuronSettings")
