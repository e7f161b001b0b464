"""The stack of one notebook instance."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.sagemaker.notebook import NotebookConfig
from llm_fleet.network.network import Network
from llm_fleet_stacks.hyperpod_stack import HyperPodStack
from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack
from llm_fleet_stacks.storage_stack import StorageStack


class NotebookStack(cdk.Stack):
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
        super().__init__(scope, id, env=env, tags=tags, stack_name=id)
