"""The stack of SageMaker Studio."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.sagemaker.studio import StudioConfig
from llm_fleet.config.sagemaker.studio_view import ConfiguredStudio
from llm_fleet.network.network import Network
from llm_fleet.sagemaker.studio.studio_domain import StudioDomain
from llm_fleet.sagemaker.studio.studio_user import StudioUser
from llm_fleet_stacks.existing_network import network_for
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.hyperpod_stack import HyperPodStack
from llm_fleet_stacks.imported import imported_key, imported_role
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
        view = ConfiguredStudio(config=config, fleet=fleet)
        self.studio = StudioDomain(
            self,
            "Studio",
            network=network_for(self, network),
            users=[
                StudioUser(
                    name=user.name,
                    uid=user.uid,
                    gid=user.gid,
                    identity=user.identity,
                    role=imported_role(self, f"RoleOf-{user.name}", config.users[user.name].role_arn),
                )
                for user in view.users
            ],
            sign_in=config.sign_in,
            internet=view.internet,
            instance_type=config.instance_type,
            allowed_instance_types=config.allowed_instance_types,
            idle_minutes=config.idle_minutes,
            volume_gib=config.volume_gib,
            maximum_volume_gib=config.maximum_volume_gib,
            home_efs=config.home_efs,
            lustre=storage.lustre if config.mount_fsx else None,
            lustre_directory=config.lustre_directory,
            code_repositories=config.code_repositories,
            buckets=[storage.buckets[key] for key in config.bucket_keys] or None,
            pins=config.pins,
            name_prefixes=config.name_prefixes,
            clusters=reached_clusters(config.clusters, clusters),
            encryption_key=imported_key(self, "StudioKey", config.kms_key_arn) or storage.key,
            domain_name=view.domain_name,
        )
        """The domain."""
        for key, value in config.tags.items():
            cdk.Tags.of(self.studio).add(key, value)
        self.studio.add_outputs()
