"""A training job of the fleet file as the rules see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.job_channel import JobChannelConfig
from llm_fleet.config.sagemaker.job_checkpoints import JobCheckpointsConfig
from llm_fleet.config.sagemaker.job_distribution import JobDistributionConfig
from llm_fleet.config.sagemaker.job_image import TrainingImageConfig
from llm_fleet.config.sagemaker.job_metric import JobMetricConfig
from llm_fleet.config.sagemaker.job_source import JobSourceConfig
from llm_fleet.config.sagemaker.job_spot import JobSpotConfig
from llm_fleet.config.sagemaker.job_tracking import JobTrackingConfig
from llm_fleet.config.sagemaker.job_warm_pool import JobWarmPoolConfig
from llm_fleet.config.sagemaker.training_job import TrainingJobConfig
from llm_fleet.rules.sagemaker.training_job_terms import InputMode

_KNOWN_LATER = "${Token[known-later]}"
"""What only the deployment knows, in the form that rules pass over."""
_MADE_BY_THE_FLEET = "s3://made-by-the-fleet/"


def training_job_name(fleet_name: str, config: TrainingJobConfig) -> str:
    """Return what the state machine of a job is called, and what the names of its jobs begin with."""
    return f"{fleet_name}-{config.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelView:
    """A channel (`ChannelLike`)."""

    config: JobChannelConfig

    @property
    def name(self) -> str:
        """Its key."""
        return self.config.name

    @property
    def uri(self) -> str | None:
        """As written; in a bucket of the fleet's own, below a name that stands for it."""
        if self.config.bucket is not None:
            return f"{_MADE_BY_THE_FLEET}{self.config.prefix or ''}"
        return self.config.s3_uri

    @property
    def file_system_id(self) -> str | None:
        """The fleet's, which the deployment knows."""
        return None if self.config.fsx is None else _KNOWN_LATER

    @property
    def directory(self) -> str | None:
        """Below the mount name, which the deployment knows."""
        return None if self.config.fsx is None else f"/{_KNOWN_LATER}/{self.config.fsx}"

    @property
    def read_only(self) -> bool:
        """As written."""
        return self.config.read_only

    @property
    def input_mode(self) -> InputMode:
        """As written."""
        return self.config.input_mode

    @property
    def sharded(self) -> bool:
        """As written."""
        return self.config.sharded

    @property
    def manifest(self) -> bool:
        """As written."""
        return self.config.manifest

    @property
    def compressed(self) -> bool:
        """As written."""
        return self.config.compressed

    @property
    def content_type(self) -> str | None:
        """As written."""
        return self.config.content_type

    @property
    def key_arn(self) -> str | None:
        """As written."""
        return self.config.key_arn


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJobView:
    """A training job with what the rest of the fleet file says of it (`TrainingJobLike`)."""

    config: TrainingJobConfig
    fleet: Fleet

    @property
    def name(self) -> str:
        """The fleet's name before its key, as two fleets of an account may both have a `train`."""
        return training_job_name(self.fleet.name, self.config)

    @property
    def image(self) -> TrainingImageConfig:
        """As written."""
        return self.config.image

    @property
    def source(self) -> JobSourceConfig | None:
        """As written."""
        return self.config.source

    @property
    def instance_type(self) -> str:
        """As written."""
        return self.config.instance_type

    @property
    def instance_count(self) -> int:
        """As written."""
        return self.config.instance_count

    @property
    def volume_gib(self) -> int | None:
        """As written."""
        return self.config.volume_gib

    @property
    def max_run_seconds(self) -> int:
        """As written."""
        return self.config.max_run_seconds

    @property
    def max_pending_seconds(self) -> int | None:
        """As written."""
        return self.config.max_pending_seconds

    @property
    def spot(self) -> JobSpotConfig | None:
        """As written."""
        return self.config.spot

    @property
    def warm_pool(self) -> JobWarmPoolConfig | None:
        """As written."""
        return self.config.warm_pool

    @property
    def training_plan_arn(self) -> str | None:
        """As written."""
        return self.config.training_plan_arn

    @property
    def retries(self) -> int | None:
        """As written."""
        return self.config.retries

    @property
    def hyperparameters(self) -> Mapping[str, Any]:
        """As written."""
        return self.config.hyperparameters

    @property
    def environment(self) -> Mapping[str, str]:
        """As written."""
        return self.config.environment

    @property
    def channels(self) -> Sequence[ChannelView]:
        """As written, in that order."""
        return [ChannelView(config=channel) for channel in self.config.channels.values()]

    @property
    def checkpoints(self) -> JobCheckpointsConfig | None:
        """As written."""
        return self.config.checkpoints

    @property
    def output_uri(self) -> str | None:
        """As written."""
        return self.config.output.uri

    @property
    def metrics(self) -> Sequence[JobMetricConfig]:
        """As written, in that order."""
        return list(self.config.metrics.values())

    @property
    def distribution(self) -> JobDistributionConfig:
        """As written."""
        return self.config.distribution

    @property
    def tracking(self) -> JobTrackingConfig | None:
        """As written."""
        return self.config.tracking

    @property
    def remote_debug(self) -> bool:
        """As written."""
        return self.config.remote_debug

    @property
    def network_isolation(self) -> bool:
        """As written."""
        return self.config.network_isolation

    @property
    def tags(self) -> Mapping[str, str]:
        """As written."""
        return self.config.tags
