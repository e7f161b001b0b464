"""AWS's vLLM Neuron plugin in the fleet file."""

from typing import Literal

from pydantic import Field

from llm_fleet.config.services.vllm_server import NxdVllmServerConfig
from llm_fleet.rules.inference.terms import ServerKind
from llm_fleet.spec.values import Seconds


class AwsVllmNeuronServerConfig(NxdVllmServerConfig):
    """vLLM with AWS's vLLM Neuron plugin: trn2 and newer only."""

    kind: Literal[ServerKind.AWS_VLLM_NEURON] = Field(examples=["aws-vllm-neuron"])
    """What serves the model."""
    compilation_timeout_seconds: Seconds | None = Field(default=None, alias="compilation_timeout")
    """How long compiling may take when a task starts. Default: the `load_time` of the service."""
    engine_ready_timeout_seconds: Seconds | None = Field(default=None, alias="engine_ready_timeout")
    """How long the server may take to be ready. Default: the `load_time` of the service."""
    execute_model_timeout_seconds: Seconds | None = Field(default=None, alias="execute_model_timeout")
    """How long one step of the model may take. Default: `20 min`, as a step may wait for a compilation."""
