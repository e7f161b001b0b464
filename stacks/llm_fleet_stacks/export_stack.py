"""The stack of a task that compiles a service's model. It can be deployed before the service, which needs the model.

Nothing runs in it, and nothing is paid but the log, while no model is compiled.
"""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.service import ExportConfig, ServiceConfig
from llm_fleet.inference.export import ModelExport
from llm_fleet.network.network import Network
from llm_fleet_stacks.existing_network import network_for
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.storage_stack import StorageStack


class ExportStack(FleetStack):
    """A task, run by hand, that compiles the model of a service and writes it where the service looks for it."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: ServiceConfig,
        export: ExportConfig,
        fleet: Fleet,
        storage: StorageStack,
        network: Network | NetworkConfig,
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Make the `export` of the service that `config` of `fleet` describes.

        The other parameters are those of `InferenceStack`.
        """
        super().__init__(scope, id, description="Export of a model of an LLM fleet", env=env, tags=tags)
        here = network_for(self, network)
        assert here is not None
        buckets = storage.bucket_places
        self.export = ModelExport(
            self,
            "Export",
            export.in_fleet(fleet.storage, config.model, buckets),
            service=config.in_fleet(fleet.name, fleet.storage, buckets),
            network=here,
            name=f"{config.name_in(fleet.name)}-export",
            encryption_key=storage.key,
        )
        """The task."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.export).add(key, value)
        self.export.add_outputs()
