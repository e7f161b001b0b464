"""The stacks of inference services, and of the exports that compile their models."""

from constructs import Construct

from llm_fleet.fleet_file.check_fleet import EXPORT
from llm_fleet.fleet_file.service import ExportConfig, ServiceConfig
from llm_fleet.inference.export import ModelExport
from llm_fleet.inference.service import InferenceService
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.sagemaker_stacks import add_tags
from llm_fleet_stacks.storage_stacks import Ground


class InferenceStack(FleetStack):
    """A model behind an OpenAI-compatible endpoint, on the network of its fleet.

    It is short-lived; network, storage and the model in its bucket are retained.
    """

    def __init__(self, scope: Construct, key: str, *, config: ServiceConfig, ground: Ground) -> None:
        """Make the service that `config` describes on `ground`, which has a network."""
        fleet, storage = ground.fleet, ground.storage
        super().__init__(scope, key, fleet=fleet, env=ground.env, description="Inference service of an LLM fleet")
        network = ground.network_in(self)
        assert network is not None
        self.service = InferenceService(
            self,
            "Service",
            config.in_fleet(fleet.name, fleet.storage.buckets, storage.bucket_places),
            network=network,
            encryption_key=storage.key,
        )
        """The service."""
        add_tags(self.service, config.tags)
        self.service.add_outputs()


class ExportStack(FleetStack):
    """A task, run by hand, that compiles the model of a service and writes it to the service's location.

    It can be deployed before the service, which needs the model. While no model is compiled, nothing runs in it, and
    only its log costs money.
    """

    def __init__(
        self, scope: Construct, key: str, *, config: ServiceConfig, export: ExportConfig, ground: Ground
    ) -> None:
        """Make the `export` of the service that `config` describes on `ground`, which has a network."""
        fleet, storage = ground.fleet, ground.storage
        super().__init__(
            scope, f"{key}{EXPORT}", fleet=fleet, env=ground.env, description="Export of a model of an LLM fleet"
        )
        network, buckets = ground.network_in(self), storage.bucket_places
        assert network is not None
        self.export = ModelExport(
            self,
            "Export",
            export.in_fleet(fleet.storage.buckets, config.model, buckets),
            service=config.in_fleet(fleet.name, fleet.storage.buckets, buckets),
            network=network,
            name=f"{config.name_in(fleet.name)}-export",
            encryption_key=storage.key,
        )
        """The task."""
        add_tags(self.export, config.tags)
        self.export.add_outputs()
