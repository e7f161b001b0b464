"""The stack of what is watched of a fleet. It stands before the clusters, and stays when they go."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.accounting.slurm_database import SlurmDatabase
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.monitoring.monitoring import MonitoringConfig
from llm_fleet.monitoring.cluster_monitoring import ClusterMonitoring
from llm_fleet.notifications.alarm_topic import AlarmTopic
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.hyperpod_stack import HyperPodStack
from llm_fleet_stacks.monitoring_values import (
    budget_from,
    chats_from,
    monitored_from,
    thresholds_from,
    watched_keys,
)
from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack
from llm_fleet_stacks.storage_stack import StorageStack


class MonitoringStack(FleetStack):
    """Alarms on clusters, file systems and accounting, who is told, a dashboard, and a budget.

    It knows clusters by their names alone, and is deployed before them: a log group has its retention before a node
    writes, and a creation that fails is seen. So the clusters' stacks depend on it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: MonitoringConfig,
        fleet: Fleet,
        storage: StorageStack,
        database: SlurmDatabase | None,
        clusters: Mapping[str, HyperPodStack | ParallelClusterStack],
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Make what `config` of `fleet` describes.

        `storage` has the fleet's file systems, `database` is its own for accounting. `clusters`: those of the fleet, by
        their keys. `env`: default, the one that the CDK CLI is called with. `tags`: default, none.
        """
        super().__init__(scope, id, description="Alarms, dashboard and budget of an LLM fleet", env=env, tags=tags)
        alarms = config.alarms
        self.monitoring = ClusterMonitoring(
            self,
            "Monitoring",
            name=fleet.name,
            clusters=[
                monitored_from(key, clusters[key].cluster.cluster_name, fleet) for key in watched_keys(config, fleet)
            ],
            lustre=storage.lustre,
            open_zfs=storage.open_zfs,
            database=database,
            thresholds=thresholds_from(alarms.thresholds),
            topic=sns.Topic.from_topic_arn(self, "Told", alarms.topic_arn) if alarms.topic_arn else None,
            emails=alarms.emails,
            chats=chats_from(alarms),
            budget=budget_from(config.budget, fleet),
            dashboard=config.dashboard,
            log_retention_days=config.log_retention_days,
        )
        """What watches."""
        for stack in clusters.values():
            stack.add_stack_dependency(self, reason="a cluster's log group is made while it is being created")
        topic_arn = self.monitoring.topic.topic_arn
        cdk.CfnOutput(self, "AlarmTopicArn", value=topic_arn, description="Who is told: subscribe to it")
        if self.monitoring.observer is not None:
            function = self.monitoring.observer.function.function.ref
            cdk.CfnOutput(self, "Observer", value=function, description="The function that looks at clusters")

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        topic = self.monitoring.topic
        self.offer(topic.topic_arn, topic.key_arn if isinstance(topic, AlarmTopic) else None)
