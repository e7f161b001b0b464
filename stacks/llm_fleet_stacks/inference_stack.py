"""The stack of one inference service. It comes and goes; network and storage stay, and the model in its bucket."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.service import ServiceConfig
from llm_fleet.inference.service import InferenceService
from llm_fleet.network.network import Network
from llm_fleet_stacks.existing_network import network_for
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.storage_stack import StorageStack


class InferenceStack(FleetStack):
    """A model behind an OpenAI-compatible endpoint, on the network of its fleet."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: ServiceConfig,
        fleet: Fleet,
        storage: StorageStack,
        network: Network | NetworkConfig,
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Make the service that `config` of `fleet` describes.

        `storage` has the fleet's own buckets, and the key that encrypts logs. `network`: one that another stack has
        made, or the description of an existing one. `env`: default, the one that the CDK CLI is called with. `tags`:
        default, none.
        """
        super().__init__(scope, id, description="Inference service of an LLM fleet", env=env, tags=tags)
        here = network_for(self, network)
        assert here is not None
        self.service = InferenceService(
            self,
            "Service",
            config.in_fleet(fleet.name, fleet.storage, storage.bucket_places),
            network=here,
            encryption_key=storage.key,
        )
        """The service."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.service).add(key, value)
        self.service.add_outputs()
