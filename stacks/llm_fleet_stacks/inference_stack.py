"""The stacks of inference services, and of the exports that compile their models."""

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.fleet_file.service import ExportConfig, ServiceConfig
from llm_fleet.inference.export import ModelExport
from llm_fleet.inference.service import InferenceService
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.ground import Ground


class InferenceStack(FleetStack):
    """A model behind an OpenAI-compatible endpoint, on the network of its fleet.

    It comes and goes; network and storage stay, and the model in its bucket.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: ServiceConfig,
        ground: Ground,
    ) -> None:
        """Make the service that `config` describes on `ground`, which has a network."""
        super().__init__(
            scope, id, description="Inference service of an LLM fleet", env=ground.env, tags=ground.fleet.tags
        )
        fleet, storage, here = ground.fleet, ground.storage, ground.network_in(self)
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


class ExportStack(FleetStack):
    """A task, run by hand, that compiles the model of a service and writes it where the service looks for it.

    It can be deployed before the service, which needs the model. Nothing runs in it, and only its log is paid for,
    while no model is compiled.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: ServiceConfig,
        export: ExportConfig,
        ground: Ground,
    ) -> None:
        """Make the `export` of the service that `config` describes on `ground`, which has a network."""
        super().__init__(
            scope, id, description="Export of a model of an LLM fleet", env=ground.env, tags=ground.fleet.tags
        )
        fleet, storage, here = ground.fleet, ground.storage, ground.network_in(self)
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
