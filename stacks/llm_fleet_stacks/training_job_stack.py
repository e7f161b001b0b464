"""The stack of one training job of SageMaker."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.sagemaker.training_job import TrainingJobConfig
from llm_fleet.network.network import Network
from llm_fleet_stacks.storage_stack import StorageStack
from llm_fleet_stacks.watch_stack import WatchStack


class TrainingJobStack(cdk.Stack):
    """A training job that can be started again and again."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: TrainingJobConfig,
        fleet: Fleet,
        storage: StorageStack,
        network: Network | NetworkConfig | None,
        watch: WatchStack | None,
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Make what `config` of `fleet` describes.

        `storage` has the fleet's own buckets, file systems and key. `network`: one that another stack has made, the
        description of an existing one, or none. `watch`: the fleet's, if it has one. `env`: default, the one that the
        CDK CLI is called with. `tags`: default, none.
        """
        super().__init__(scope, id, env=env, tags=tags, stack_name=id)
