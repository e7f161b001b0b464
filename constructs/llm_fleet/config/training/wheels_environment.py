"""A training environment of packages of one's choice."""

from typing import Literal

from pydantic import Field

from llm_fleet.config.training.environment import EnvironmentConfig
from llm_fleet.rules.training.environment import EnvironmentKind


class WheelsEnvironmentConfig(EnvironmentConfig):
    """Packages of your choice, in a virtual environment. All must be in the lock of `downloads`."""

    kind: Literal[EnvironmentKind.WHEELS] = Field(examples=["wheels"])
    """What it is made of."""
    packages: tuple[str, ...] = Field(examples=["[torch==2.13.0, transformers]"])
    """Packages, each `name` or `name==version`; what they need comes with them."""
    python: str = Field(examples=["3.11", '"3.11"'])
    """The version of Python, in quotes, e.g. `"3.11"`; nodes must have it."""
