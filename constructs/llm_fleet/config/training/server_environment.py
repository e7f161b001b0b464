"""A training environment that is an inference server's image."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from llm_fleet.config.training.environment import EnvironmentConfig
from llm_fleet.rules.training.environment import EnvironmentKind
from llm_fleet.spec.model_server import ServerKind


class ServerEnvironmentConfig(EnvironmentConfig):
    """The image that a service of this file runs in the fleet's region: what jobs export models for it in."""

    written_as: ClassVar[Mapping[str, str]] = {"server_kind": "server"}

    kind: Literal[EnvironmentKind.SERVER] = Field(examples=["server"])
    """What it is made of."""
    server_kind: ServerKind = Field(alias="server", examples=["tgi"])
    """The server: `tgi` or `hugging-face-vllm`; others compile by themselves, and nothing is exported for them."""
