"""The stack of one endpoint of SageMaker. It comes and goes; network and storage stay, and the model where it is."""

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.fleet_file.sagemaker import EndpointConfig
from llm_fleet.sagemaker.endpoint import HuggingFaceEndpoint
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.ground import Ground


class EndpointStack(FleetStack):
    """A model behind an endpoint of SageMaker, in the network of its fleet where that has one."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: EndpointConfig,
        ground: Ground,
    ) -> None:
        """Make what `config` describes on `ground`."""
        super().__init__(scope, id, description="Endpoint of an LLM fleet", env=ground.env, tags=ground.fleet.tags)
        in_network = config.stands_in_network(fleet_has_one=ground.network is not None)
        self.endpoint = HuggingFaceEndpoint(
            self,
            "Endpoint",
            endpoint=config.in_fleet(ground.fleet.name, ground.storage.bucket_places),
            network=ground.network_in(self) if in_network else None,
            encryption_key=ground.storage.key,
        )
        """The endpoint."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.endpoint).add(key, value)
        self.endpoint.add_outputs()
