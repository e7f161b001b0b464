"""The kinds of model servers that a service can have."""

from typing import Annotated

from pydantic import Field

from llm_fleet.config.kinds import KIND
from llm_fleet.config.services.aws_vllm_neuron_server import AwsVllmNeuronServerConfig
from llm_fleet.config.services.aws_vllm_server import AwsVllmServerConfig
from llm_fleet.config.services.hugging_face_vllm_server import HuggingFaceVllmServerConfig
from llm_fleet.config.services.tgi_server import TgiServerConfig

AnyServer = Annotated[
    TgiServerConfig | HuggingFaceVllmServerConfig | AwsVllmServerConfig | AwsVllmNeuronServerConfig,
    Field(discriminator=KIND),
]
"""A model server, told by its `kind`."""
