"""The stacks of a fleet's notebook instances and of its Studio, from which people reach its clusters."""

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.fleet_file.check_sagemaker import ids_on_clusters
from llm_fleet.fleet_file.sagemaker import NotebookConfig, StudioConfig
from llm_fleet.sagemaker.notebook import TrainingNotebook
from llm_fleet.sagemaker.studio import StudioDomain
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.ground import Ground


class NotebookStack(FleetStack):
    """A notebook instance of SageMaker."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: NotebookConfig,
        ground: Ground,
    ) -> None:
        """Make what `config` describes on `ground`."""
        super().__init__(
            scope, id, description="Notebook instance of an LLM fleet", env=ground.env, tags=ground.fleet.tags
        )
        self.notebook = TrainingNotebook(
            self,
            "Notebook",
            config.in_fleet(ground.fleet.name),
            network=ground.network_in(self),
            buckets=[ground.storage.buckets[key] for key in config.bucket_keys] or None,
            clusters=ground.reached(config.clusters),
            encryption_key=ground.storage.key,
        )
        """The notebook."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.notebook).add(key, value)
        self.notebook.add_outputs()


class StudioStack(FleetStack):
    """SageMaker Studio for the fleet."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: StudioConfig,
        ground: Ground,
    ) -> None:
        """Make what `config` describes on `ground`."""
        super().__init__(
            scope, id, description="SageMaker Studio of an LLM fleet", env=ground.env, tags=ground.fleet.tags
        )
        self.studio = StudioDomain(
            self,
            "Studio",
            config.in_fleet(ground.fleet.name, ids_on_clusters(ground.fleet, config)),
            network=ground.network_in(self),
            lustre=ground.storage.lustre if config.mount_fsx else None,
            buckets=[ground.storage.buckets[key] for key in config.bucket_keys] or None,
            clusters=ground.reached(config.clusters),
            encryption_key=ground.storage.key,
        )
        """The domain."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.studio).add(key, value)
        self.studio.add_outputs()
