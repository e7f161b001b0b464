"""AWS's vLLM Neuron plugin in the fleet file."""

from typing import Literal

from pydantic import Field

from llm_fleet.config.services.vllm_server import NxdVllmServerConfig
from llm_fleet.config.values import Seconds
from llm_fleet.rules.inference.terms import ServerKind


class AwsVllmNeuronServerConfig(NxdVllmServerConfig):
    """vLLM with AWS's vLLM Neuron plugin: trn2 and newer only."""

    kind: Literal[ServerKind.AWS_VLLM_NEURON] = Field(examples=["aws-vllm-neuron"])
    """What serves the model."""
    compilation_timeout_seconds: Seconds | None = Field(default=None, alias="compilation_timeout")
    """How long compiling may take when a task starts. Default: `10 min`, as the plugin has it."""
    execute_model_timeout_seconds: Seconds | None = Field(default=None, alias="execute_model_timeout")
    """How long one step of the model may take. Default: as vLLM has it."""
