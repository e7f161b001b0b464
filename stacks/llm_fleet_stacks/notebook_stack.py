"""The stack of one notebook instance."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.sagemaker.notebook import NotebookConfig
from llm_fleet.network.network import Network
from llm_fleet.sagemaker.notebook.training_notebook import TrainingNotebook
from llm_fleet_stacks.existing_network import network_for
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.hyperpod_stack import HyperPodStack
from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack
from llm_fleet_stacks.reached_clusters import reached_clusters
from llm_fleet_stacks.storage_stack import StorageStack


class NotebookStack(FleetStack):
    """A notebook instance of SageMaker."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: NotebookConfig,
        fleet: Fleet,
        storage: StorageStack,
        network: Network | NetworkConfig | None,
        clusters: Mapping[str, HyperPodStack | ParallelClusterStack],
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Make what `config` of `fleet` describes.

        `storage` has the fleet's own buckets, file systems and key. `network`: one that another stack has made, the
        description of an existing one, or none. `clusters`: those of the fleet, by their keys. `env`: default, the one
        that the CDK CLI is called with. `tags`: default, none.
        """
        super().__init__(scope, id, description="Notebook instance of an LLM fleet", env=env, tags=tags)
        self.notebook = TrainingNotebook(
            self,
            "Notebook",
            config.in_fleet(fleet.name),
            network=network_for(self, network),
            buckets=[storage.buckets[key] for key in config.bucket_keys] or None,
            clusters=reached_clusters(config.clusters, clusters),
            encryption_key=storage.key,
        )
        """The notebook."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.notebook).add(key, value)
        self.notebook.add_outputs()
