"""The stack of one endpoint of SageMaker. It comes and goes; network and storage stay, and the model where it is."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.sagemaker.endpoint import EndpointConfig
from llm_fleet.network.network import Network
from llm_fleet.sagemaker.endpoint.hugging_face_endpoint import HuggingFaceEndpoint
from llm_fleet_stacks.existing_network import network_for
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.storage_stack import StorageStack


class EndpointStack(FleetStack):
    """A model behind an endpoint of SageMaker, in the network of its fleet where that has one."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: EndpointConfig,
        fleet: Fleet,
        storage: StorageStack,
        network: Network | NetworkConfig | None,
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Make what `config` of `fleet` describes.

        `storage` has the fleet's own buckets, file systems and key. `network`: one that another stack has made, the
        description of an existing one, or none. `env`: default, the one that the CDK CLI is called with. `tags`:
        default, none.
        """
        super().__init__(scope, id, description="Endpoint of an LLM fleet", env=env, tags=tags)
        in_network = config.stands_in_network(fleet_has_one=network is not None)
        self.endpoint = HuggingFaceEndpoint(
            self,
            "Endpoint",
            endpoint=config.in_fleet(fleet.name, storage.bucket_places),
            network=network_for(self, network) if in_network else None,
            encryption_key=storage.key,
        )
        """The endpoint."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.endpoint).add(key, value)
        self.endpoint.add_outputs()
