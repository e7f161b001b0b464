"""The stack of SageMaker Studio."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.sagemaker.check_studio import ids_on_clusters
from llm_fleet.config.sagemaker.studio import StudioConfig
from llm_fleet.network.network import Network
from llm_fleet.sagemaker.studio.studio_domain import StudioDomain
from llm_fleet_stacks.existing_network import network_for
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.hyperpod_stack import HyperPodStack
from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack
from llm_fleet_stacks.reached_clusters import reached_clusters
from llm_fleet_stacks.storage_stack import StorageStack


class StudioStack(FleetStack):
    """SageMaker Studio for the fleet."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: StudioConfig,
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
        super().__init__(scope, id, description="SageMaker Studio of an LLM fleet", env=env, tags=tags)
        self.studio = StudioDomain(
            self,
            "Studio",
            config.in_fleet(fleet.name, ids_on_clusters(fleet, config)),
            network=network_for(self, network),
            lustre=storage.lustre if config.mount_fsx else None,
            buckets=[storage.buckets[key] for key in config.bucket_keys] or None,
            clusters=reached_clusters(config.clusters, clusters),
            encryption_key=storage.key,
        )
        """The domain."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.studio).add(key, value)
        self.studio.add_outputs()
