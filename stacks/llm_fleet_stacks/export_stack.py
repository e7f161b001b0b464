"""The stack of a task that compiles a service's model. It can be deployed before the service, which needs the model.

Nothing runs in it, and nothing is paid but the log, while no model is compiled.
"""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.services.export import ExportConfig
from llm_fleet.config.services.own_bucket import own_bucket
from llm_fleet.config.services.service import ServiceConfig
from llm_fleet.config.services.view import service_name
from llm_fleet.inference.ec2_hosts import Ec2Hosts
from llm_fleet.inference.model_export import ModelExport
from llm_fleet.network.network import Network
from llm_fleet_stacks.existing_network import network_for
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.inference_values import model_from
from llm_fleet_stacks.model_servers import server_from
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
        model = model_from(config.model, own=own_bucket(config.model, fleet), buckets=storage.buckets)
        self.export = ModelExport(
            self,
            "Export",
            source=model_from(
                export.source,
                own=own_bucket(export.source, fleet),
                buckets=storage.buckets,
                compiled=False,
                shape=model.shape,
            ),
            model=model,
            server=server_from(config.server),
            instance_type=config.instance_type,
            network=here,
            hosts=Ec2Hosts(instance_type=export.instance_type) if export.instance_type else None,
            fargate=export.fargate,
            tools_image=export.tools_image,
            name=f"{service_name(fleet.name, config)}-export",
            log_retention_days=config.log_retention_days,
            encryption_key=storage.key,
        )
        """The task."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.export).add(key, value)
        self.export.add_outputs()
