"""A training environment that is a container."""

from typing import Literal

from pydantic import Field

from llm_fleet.config.training.environment import EnvironmentConfig
from llm_fleet.rules.training.environment import EnvironmentKind


class ContainerEnvironmentConfig(EnvironmentConfig):
    """A container image, imported once by Enroot and run by Pyxis."""

    kind: Literal[EnvironmentKind.CONTAINER] = Field(examples=["container"])
    """What it is made of."""
    image: str = Field(examples=["111122223333.dkr.ecr.us-west-2.amazonaws.com/training:2026-11-20"])
    """The image, `<registry>/<repository>:<tag>`, by a tag that is never moved."""
