"""A training environment of conda."""

from typing import Literal

from pydantic import Field

from llm_fleet.config.training.environment import EnvironmentConfig
from llm_fleet.rules.training.environment import EnvironmentKind


class CondaEnvironmentConfig(EnvironmentConfig):
    """Archives of conda in a prefix of their own. All must be in the lock of `downloads`, as `kind: archive`."""

    kind: Literal[EnvironmentKind.CONDA] = Field(examples=["conda"])
    """What it is made of."""
    packages: tuple[str, ...] = Field(examples=["[python==3.11.9, pytorch==2.5.1]"])
    """Archives, each `name` or `name==version`; what they need comes with them."""
    program: str = Field(examples=["/opt/conda/bin/conda"])
    """What makes the prefix, by name or path on the nodes."""
