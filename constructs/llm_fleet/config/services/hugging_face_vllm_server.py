"""Hugging Face's vLLM in the fleet file."""

from typing import Literal

from pydantic import Field

from llm_fleet.config.services.vllm_server import VllmServerConfig
from llm_fleet.rules.inference.terms import ServerKind


class HuggingFaceVllmServerConfig(VllmServerConfig):
    """vLLM with the platform plugin of optimum-neuron, for inf2 and trn1."""

    kind: Literal[ServerKind.HUGGING_FACE_VLLM] = Field(examples=["hugging-face-vllm"])
    """What serves the model."""
    task: Literal["generate", "embed"] | None = None
    """Whether it generates text, or embeds it. Default: `generate`."""
    allow_non_cached_model: bool | None = None
    """Whether a model of the Hub that is in no cache of Neuron's may be compiled when a task starts. Default: no."""
