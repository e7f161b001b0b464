"""The stack of one training job of SageMaker."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.sagemaker import TrainingJobConfig
from llm_fleet.sagemaker.training_job import TrainingJob
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.ground import Ground
from llm_fleet_stacks.storage_stack import StorageStack
from llm_fleet_stacks.watch_stack import WatchStack


class TrainingJobStack(FleetStack):
    """A training job that can be started again and again. Deploying it starts none."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: TrainingJobConfig,
        ground: Ground,
        watch: WatchStack | None,
    ) -> None:
        """Make what `config` describes on `ground`. `watch`: the fleet's, if it has one."""
        super().__init__(
            scope,
            id,
            description="A training job of SageMaker that can be started again and again",
            env=ground.env,
            tags=ground.fleet.tags,
        )
        followed = watch.watch if watch and config.watched else None
        self.job = TrainingJob(
            self,
            "Job",
            job=_in_fleet(config, ground.fleet, ground.storage),
            network=ground.network_in(self),
            bucket=cast(s3.IBucket, ground.storage.buckets[config.bucket]) if config.bucket else None,
            encryption_key=ground.storage.key,  # pyright: ignore[reportArgumentType]
            watch=followed,
            watched=config.watch if followed else None,
            alarm_topic=sns.Topic.from_topic_arn(self, "Told", config.alarm_topic) if config.alarm_topic else None,
        )
        """The job."""
        self._add_outputs()

    def _add_outputs(self) -> None:
        job = self.job
        outputs = {
            "StateMachineArn": (job.state_machine_arn, "What runs the job"),
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


def _in_fleet(config: TrainingJobConfig, fleet: Fleet, storage: StorageStack) -> TrainingJobSpec:
    """Return the job on the fleet's own buckets and file system."""
    buckets, lustre = storage.bucket_places, storage.lustre
    if lustre is None:
        return config.in_fleet(fleet.name, tags=fleet.tags, buckets=buckets)
    place = (lustre.file_system_id, lustre.mount_name)
    return config.in_fleet(fleet.name, tags=fleet.tags, buckets=buckets, lustre=place)
