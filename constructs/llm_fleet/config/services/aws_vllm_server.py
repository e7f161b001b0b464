"""AWS's vLLM with NxD Inference in the fleet file."""

from typing import Literal

from pydantic import Field

from llm_fleet.config.services.vllm_server import NxdVllmServerConfig
from llm_fleet.rules.inference.terms import ServerKind


class AwsVllmServerConfig(NxdVllmServerConfig):
    """vLLM with NxD Inference, in AWS's image: inf2, trn1 and trn2."""

    kind: Literal[ServerKind.AWS_VLLM] = Field(examples=["aws-vllm"])
    """What serves the model."""
    compiled_artifacts: str | None = None
    """A folder in the container with the compiled model. Default: one in the host's cache, where it is compiled."""
