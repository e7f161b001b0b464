"""The stack of the watch over training jobs and clusters."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.sagemaker import WatchConfig
from llm_fleet.sagemaker.watch import FollowedCluster, TrainingWatch
from llm_fleet.spec.watch import WatchSpec
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.ground import Ground
from llm_fleet_stacks.hyperpod_stack import HyperPodStack
from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack


class WatchStack(FleetStack):
    """Who starts training jobs again that failed, and tells what happens to clusters.

    It comes before the training jobs, which bring it the right to restart them, and after the clusters. Its record and
    the key of it are kept when it goes.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: WatchConfig,
        ground: Ground,
        topic: sns.ITopic | None = None,
    ) -> None:
        """Make what `config` describes on `ground`. `topic`: where `config` names none; default, one is made."""
        super().__init__(
            scope,
            id,
            description="Watch over the training jobs and clusters of an LLM fleet",
            env=ground.env,
            tags=ground.fleet.tags,
        )
        told = sns.Topic.from_topic_arn(self, "Told", config.topic_arn) if config.topic_arn else topic
        self.watch = TrainingWatch(
            self,
            "Watch",
            config.narrowed(WatchSpec),
            name=ground.fleet.name,
            clusters=_followed(config, ground.clusters),
            topic=told,
        )
        """The watch."""
        cdk.CfnOutput(self, "TopicArn", value=self.watch.topic.topic_arn, description="Who is told: subscribe to it")
        cdk.CfnOutput(
            self, "RecordTable", value=self.watch.record_table_name, description="What was decided, by training job"
        )
        cdk.CfnOutput(
            self, "QueueUrl", value=self.watch.queue.queue.queue_url, description="Where events wait for the watch"
        )
        cdk.CfnOutput(
            self,
            "PutAsideQueueUrl",
            value=self.watch.queue.dead_letters.queue_url,
            description="Events that could not be handled",
        )

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        watch = self.watch
        self.offer(watch.record_table_name, watch.record_table_arn, watch.record_key_arn, watch.role.role_name)


def watch_of(fleet: Fleet) -> WatchConfig | None:
    """Return the watch that `fleet` asks for; where only its monitoring does, one that tells of clusters.

    The events of a cluster are told by a watch and by nothing else, so that nobody is told twice.
    """
    monitoring = fleet.monitoring
    if fleet.watch is not None or monitoring is None or not monitoring.alarms.events:
        return fleet.watch
    names = monitoring.watched_of(fleet.hyperpod_clusters)
    return WatchConfig(clusters=tuple(names)) if names else None


def _followed(
    config: WatchConfig, clusters: Mapping[str, HyperPodStack | ParallelClusterStack]
) -> list[FollowedCluster | str]:
    """Return the HyperPod clusters that `config` names, or all of them."""
    names = clusters if config.clusters is None else config.clusters
    stacks = [clusters[name] for name in names]
    return [stack.cluster for stack in stacks if isinstance(stack, HyperPodStack)]
