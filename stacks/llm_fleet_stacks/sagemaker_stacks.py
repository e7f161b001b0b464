"""The stacks of a fleet's SageMaker pieces: notebooks, Studio, endpoints, training jobs and their watch.

What a piece needs is imported when a fleet has one; see `fleet_stacks`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.references import topic_of
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.storage_stacks import Ground

if TYPE_CHECKING:
    from llm_fleet.fleet_file.fleet import Fleet
    from llm_fleet.fleet_file.monitoring import WatchConfig
    from llm_fleet.fleet_file.sagemaker import (
        EndpointConfig,
        NotebookConfig,
        StudioConfig,
        TrainingJobConfig,
    )
    from llm_fleet.sagemaker.watch import FollowedCluster
    from llm_fleet.spec.training_job import TrainingJobSpec
    from llm_fleet_stacks.monitoring_stacks import MonitoringStack


class NotebookStack(FleetStack):
    """A notebook instance of SageMaker."""

    def __init__(self, scope: Construct, key: str, *, config: "NotebookConfig", ground: Ground) -> None:
        """Make what `config` describes on `ground`."""
        from llm_fleet.sagemaker.notebook import TrainingNotebook

        fleet, storage = ground.fleet, ground.storage
        super().__init__(scope, key, fleet=fleet, env=ground.env, description="Notebook instance of an LLM fleet")
        self.notebook = TrainingNotebook(
            self,
            "Notebook",
            config.in_fleet(fleet.name),
            network=ground.network_in(self),
            buckets=[storage.buckets[key] for key in config.bucket_keys] or None,
            clusters=ground.reached(config.clusters),
            encryption_key=storage.key,
        )
        """The notebook."""
        add_tags(self.notebook, config.tags)
        self.notebook.add_outputs()


class StudioStack(FleetStack):
    """SageMaker Studio for the fleet."""

    def __init__(self, scope: Construct, *, config: "StudioConfig", ground: Ground) -> None:
        """Make what `config` describes on `ground`."""
        from llm_fleet.fleet_file.check_sagemaker import ids_on_clusters
        from llm_fleet.sagemaker.studio import StudioDomain

        fleet, storage = ground.fleet, ground.storage
        super().__init__(scope, "studio", fleet=fleet, env=ground.env, description="SageMaker Studio of an LLM fleet")
        self.studio = StudioDomain(
            self,
            "Studio",
            config.in_fleet(fleet.name, ids_on_clusters(fleet, config)),
            network=ground.network_in(self),
            lustre=storage.lustre if config.mount_fsx else None,
            buckets=[storage.buckets[key] for key in config.bucket_keys] or None,
            clusters=ground.reached(config.clusters),
            encryption_key=storage.key,
        )
        """The domain."""
        add_tags(self.studio, config.tags)
        self.studio.add_outputs()


class EndpointStack(FleetStack):
    """A model behind an endpoint of SageMaker, in the network of its fleet where that has one.

    It is short-lived; network, storage and the model are retained.
    """

    def __init__(self, scope: Construct, key: str, *, config: "EndpointConfig", ground: Ground) -> None:
        """Make what `config` describes on `ground`."""
        from llm_fleet.sagemaker.endpoint import HuggingFaceEndpoint

        fleet, storage = ground.fleet, ground.storage
        super().__init__(scope, key, fleet=fleet, env=ground.env, description="Endpoint of an LLM fleet")
        in_network = config.is_in_network(fleet_has_one=ground.network is not None)
        self.endpoint = HuggingFaceEndpoint(
            self,
            "Endpoint",
            endpoint=config.in_fleet(fleet.name, storage.bucket_places),
            network=ground.network_in(self) if in_network else None,
            encryption_key=storage.key,
        )
        """The endpoint."""
        add_tags(self.endpoint, config.tags)
        self.endpoint.add_outputs()


def add_tags(construct: Construct, tags: Mapping[str, str]) -> None:
    """Add `tags` to all of `construct`, next to those of its stack."""
    for key, value in tags.items():
        cdk.Tags.of(construct).add(key, value)


class WatchStack(FleetStack):
    """Restarts training jobs that failed, and reports events of clusters.

    It is deployed after the clusters and before the training jobs, which grant it the permission to restart them. Its
    record and its key are retained when it is deleted.
    """

    def __init__(
        self, scope: Construct, *, config: "WatchConfig", ground: Ground, monitoring: "MonitoringStack | None" = None
    ) -> None:
        """Make what `config` describes on `ground`. Without a topic of its own, it reports to that of `monitoring`.

        Without either, a topic is made.
        """
        from llm_fleet.sagemaker.watch import TrainingWatch
        from llm_fleet.spec.watch import WatchSpec

        super().__init__(
            scope,
            "watch",
            fleet=ground.fleet,
            env=ground.env,
            description="Watch over the training jobs and clusters of an LLM fleet",
        )
        topic = monitoring.monitoring.topic if monitoring else None
        self.watch = TrainingWatch(
            self,
            "Watch",
            config.narrowed(WatchSpec),
            name=ground.fleet.name,
            clusters=_followed(config, ground),
            topic=topic_of(self, "Told", config.topic_arn) or topic,  # codespell:ignore told
        )
        """The watch."""
        cdk.CfnOutput(self, "TopicArn", value=self.watch.topic.topic_arn, description="SNS topic of the watch")
        cdk.CfnOutput(
            self, "RecordTable", value=self.watch.record_table_name, description="Table of decisions, by training job"
        )
        cdk.CfnOutput(
            self, "QueueUrl", value=self.watch.queue.queue.queue_url, description="Queue of events for the watch"
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


def watch_of(fleet: "Fleet") -> "WatchConfig | None":
    """Return the watch that `fleet` sets; if only its monitoring needs one, a watch that reports events of clusters.

    Only a watch reports the events of a cluster, so that no message is sent twice.
    """
    monitoring = fleet.monitoring
    if fleet.watch is not None or monitoring is None or not monitoring.alarms.events:
        return fleet.watch
    from llm_fleet.fleet_file.monitoring import WatchConfig

    names = monitoring.watched_of(fleet.hyperpod_clusters)
    return WatchConfig(clusters=tuple(names)) if names else None


def _followed(config: "WatchConfig", ground: Ground) -> "list[FollowedCluster | str]":
    """Return the HyperPod clusters that `config` names, or all of them."""
    names = ground.clusters if config.clusters is None else config.clusters
    clusters = [ground.clusters[name] for name in names if name in ground.fleet.hyperpod_clusters]
    return cast("list[FollowedCluster | str]", clusters)


class TrainingJobStack(FleetStack):
    """A training job that can be started again and again. Deploying it starts none."""

    def __init__(
        self, scope: Construct, key: str, *, config: "TrainingJobConfig", ground: Ground, watch: WatchStack | None
    ) -> None:
        """Make what `config` describes on `ground`. `watch`: the fleet's, if it has one."""
        from llm_fleet.sagemaker.training_job import TrainingJob

        super().__init__(
            scope,
            key,
            fleet=ground.fleet,
            env=ground.env,
            description="A training job of SageMaker that can be started again and again",
        )
        followed = watch.watch if watch and config.watched else None
        self.job = TrainingJob(
            self,
            "Job",
            job=_in_fleet(config, ground),
            network=ground.network_in(self),
            bucket=ground.storage.buckets[config.bucket] if config.bucket else None,
            encryption_key=ground.storage.key,  # pyright: ignore[reportArgumentType]
            watch=followed,
            watched=config.watch if followed else None,
            alarm_topic=topic_of(self, "Told", config.alarm_topic),  # codespell:ignore told
        )
        """The job."""
        self._add_outputs()

    def _add_outputs(self) -> None:
        job = self.job
        outputs = {
            "StateMachineArn": (job.state_machine_arn, "State machine that runs the job"),
            "BucketName": (job.bucket.bucket_name, "Where results and checkpoints go"),
            "StartCommand": (
                job.start_command,
                "Starts the job; --input takes hyperparameters, checkpoints, name_suffix",
            ),
            "ListCommand": (job.list_command, "Lists its jobs, the newest first"),
            "StopCommand": (job.stop_command, "Stops a job, by its name in place of JOB; ending an execution does not"),
        }
        if job.shell_command:
            outputs["ShellCommand"] = (job.shell_command, "Opens a shell in a running job, by its name in place of JOB")
        if job.warm_pool_cap:
            outputs["WarmPoolCapArn"] = (
                job.warm_pool_cap.policy.managed_policy_arn,
                "Caps warm pools of people who start jobs: attach it to their roles",
            )
        for name, (value, description) in outputs.items():
            cdk.CfnOutput(self, name, value=value, description=description)


def _in_fleet(config: "TrainingJobConfig", ground: Ground) -> "TrainingJobSpec":
    """Return the job on the fleet's own buckets and file system."""
    fleet, buckets, lustre = ground.fleet, ground.storage.bucket_places, ground.storage.lustre
    if lustre is None:
        return config.in_fleet(fleet.name, tags=fleet.tags, buckets=buckets)
    place = (lustre.file_system_id, lustre.mount_name)
    return config.in_fleet(fleet.name, tags=fleet.tags, buckets=buckets, lustre=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class SageMakerStacks:
    """`<fleet>-<notebook>`, `<fleet>-studio`, `<fleet>-<endpoint>`, `<fleet>-<training job>` and `<fleet>-watch`."""

    notebooks: Mapping[str, NotebookStack]
    """By their keys in the fleet file."""
    studio: StudioStack | None
    """`None` when the fleet has no Studio."""
    endpoints: Mapping[str, EndpointStack]
    """By their keys in the fleet file."""
    training_jobs: Mapping[str, TrainingJobStack]
    """By their keys in the fleet file."""
    watch: WatchStack | None
    """`None` without a watch; if `monitoring` reports events of clusters, a watch for that alone."""

    @classmethod
    def make(cls, scope: Construct, ground: Ground, *, monitoring: "MonitoringStack | None") -> "SageMakerStacks":
        """Make the stacks that the fleet of `ground` asks for below `scope`; see `FleetStacks.make`."""
        fleet = ground.fleet
        requested = watch_of(fleet)
        watch = requested and WatchStack(scope, config=requested, ground=ground, monitoring=monitoring)
        # A watch that only reports events of clusters restarts no job.
        restarting = watch if fleet.watch else None
        studio = fleet.studio and StudioStack(scope, config=fleet.studio, ground=ground)
        return cls(
            notebooks={
                key: NotebookStack(scope, key, config=config, ground=ground) for key, config in fleet.notebooks.items()
            },
            studio=studio,
            endpoints={
                key: EndpointStack(scope, key, config=config, ground=ground) for key, config in fleet.endpoints.items()
            },
            training_jobs={
                key: TrainingJobStack(scope, key, config=config, ground=ground, watch=restarting)
                for key, config in fleet.training_jobs.items()
            },
            watch=watch,
        )
