"""Settings of a watch, from the fleet file to the construct."""

from collections.abc import Iterator

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.config.sagemaker.job_watch import JobWatchConfig
from llm_fleet.config.sagemaker.watch_checkpoints import CheckpointLayoutConfig
from llm_fleet.config.sagemaker.watch_conditions import WatchConditionsConfig
from llm_fleet.config.sagemaker.watch_restart import RestartConfig
from llm_fleet.config.sagemaker.watched_jobs import WatchedJobsConfig
from llm_fleet.sagemaker.watch.checkpoint_layout import CheckpointLayout
from llm_fleet.sagemaker.watch.conditions import WatchCondition
from llm_fleet.sagemaker.watch.job_watch import JobWatch
from llm_fleet.sagemaker.watch.loss_spike import LossSpike
from llm_fleet.sagemaker.watch.not_a_number import NotANumber
from llm_fleet.sagemaker.watch.restart_policy import RestartPolicy
from llm_fleet.sagemaker.watch.stall import Stall
from llm_fleet.sagemaker.watch.throughput_drop import ThroughputDrop
from llm_fleet.sagemaker.watch.watched_jobs import WatchedJobs


def job_watch_from(config: JobWatchConfig | None) -> JobWatch | None:
    """Return what a training job has of its own; `None` for nothing."""
    if config is None:
        return None
    return JobWatch(
        restart=None if config.restart is None else restart_from(config.restart),
        conditions=None if config.conditions is None else conditions_from(config.conditions),
        checkpoints=None if config.checkpoints is None else layout_from(config.checkpoints),
        grace_minutes=config.grace_minutes,
    )


def restart_from(config: RestartConfig) -> RestartPolicy:
    """Return how jobs are started again."""
    return RestartPolicy(
        maximum=config.maximum,
        back_off_seconds=config.back_off_seconds,
        longest_back_off_seconds=config.longest_back_off_seconds,
        at_max_runtime=config.at_max_runtime,
    )


def conditions_from(config: WatchConditionsConfig) -> tuple[WatchCondition, ...]:
    """Return when a job is believed to run in vain."""
    return tuple(_conditions(config))


def layout_from(config: CheckpointLayoutConfig) -> CheckpointLayout:
    """Return how checkpoints lie."""
    return CheckpointLayout(known=config.known, pattern=config.pattern, marker=config.marker, pointer=config.pointer)


def watched_jobs_from(scope: Construct, config: WatchedJobsConfig) -> WatchedJobs:
    """Return jobs that others start, with what they run as imported below `scope`."""
    own = Construct(scope, f"Others-{config.name}")
    return WatchedJobs(
        prefix=config.prefix,
        roles=[
            iam.Role.from_role_arn(own, f"Role{index}", arn, mutable=False)
            for index, arn in enumerate(config.role_arns)
        ],
        checkpoints=config.checkpoints,
        keys=[kms.Key.from_key_arn(own, f"Key{index}", arn) for index, arn in enumerate(config.key_arns)],
    )


def _conditions(config: WatchConditionsConfig) -> Iterator[WatchCondition]:
    if (spike := config.loss_spike) is not None:
        yield LossSpike(
            metric=spike.metric, factor=spike.factor, minutes=spike.minutes, window_minutes=spike.window_minutes
        )
    if (stall := config.stall) is not None:
        yield Stall(metric=stall.metric, minutes=stall.minutes)
    if (nan := config.not_a_number) is not None:
        yield NotANumber(metric=nan.metric)
    if (drop := config.throughput_drop) is not None:
        yield ThroughputDrop(
            metric=drop.metric,
            below_fraction=drop.below_fraction,
            minutes=drop.minutes,
            window_minutes=drop.window_minutes,
        )
