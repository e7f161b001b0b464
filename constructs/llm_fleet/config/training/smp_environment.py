"""A training environment of the SageMaker model parallel library."""

from typing import Literal

from pydantic import Field

from llm_fleet.config.training.environment import EnvironmentConfig
from llm_fleet.rules.training.environment import EnvironmentKind


class SmpEnvironmentConfig(EnvironmentConfig):
    """The image of the SageMaker model parallel library v2 in the fleet's region, run by Enroot and Pyxis."""

    kind: Literal[EnvironmentKind.SMP] = Field(examples=["smp"])
    """What it is made of."""
    release: str | None = Field(default=None, alias="version")
    """Version of the library, in quotes, e.g. `"2.5.1"`. Default: the newest that the catalog knows."""
