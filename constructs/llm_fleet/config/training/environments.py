"""The kinds of training environments."""

from typing import Annotated

from pydantic import Field

from llm_fleet.config.kinds import KIND
from llm_fleet.config.training.conda_environment import CondaEnvironmentConfig
from llm_fleet.config.training.container_environment import ContainerEnvironmentConfig
from llm_fleet.config.training.neuron_environment import NeuronEnvironmentConfig
from llm_fleet.config.training.server_environment import ServerEnvironmentConfig
from llm_fleet.config.training.smp_environment import SmpEnvironmentConfig
from llm_fleet.config.training.wheels_environment import WheelsEnvironmentConfig

AnyEnvironment = Annotated[
    NeuronEnvironmentConfig
    | WheelsEnvironmentConfig
    | ContainerEnvironmentConfig
    | SmpEnvironmentConfig
    | CondaEnvironmentConfig
    | ServerEnvironmentConfig,
    Field(discriminator=KIND),
]
"""A training environment, told by its `kind`."""
