"""The stack of the watch over training jobs and clusters."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.sagemaker.watch import WatchConfig
from llm_fleet.network.network import Network
from llm_fleet_stacks.hyperpod_stack import HyperPodStack
from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack
from llm_fleet_stacks.storage_stack import StorageStack


class WatchStack(cdk.Stack):
    """Who starts training jobs again that failed, and tells what happens to clusters."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: WatchConfig,
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
        super().__init__(scope, id, env=env, tags=tags, stack_name=id)
