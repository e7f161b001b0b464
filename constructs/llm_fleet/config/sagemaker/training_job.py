"""A training job of SageMaker."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from llm_fleet.catalog.training_jobs import training_job_fact
from llm_fleet.config.sagemaker.job_capacity_retries import JobCapacityRetriesConfig
from llm_fleet.config.sagemaker.job_channel import JobChannelConfig
from llm_fleet.config.sagemaker.job_checkpoints import JobCheckpointsConfig
from llm_fleet.config.sagemaker.job_distribution import JobDistributionConfig
from llm_fleet.config.sagemaker.job_image import TrainingImageConfig
from llm_fleet.config.sagemaker.job_metric import JobMetricConfig
from llm_fleet.config.sagemaker.job_output import JobOutputConfig
from llm_fleet.config.sagemaker.job_schedule import JobScheduleConfig
from llm_fleet.config.sagemaker.job_source import JobSourceConfig
from llm_fleet.config.sagemaker.job_spot import JobSpotConfig
from llm_fleet.config.sagemaker.job_tracking import JobTrackingConfig
from llm_fleet.config.sagemaker.job_warm_pool import JobWarmPoolConfig
from llm_fleet.config.sagemaker.job_watch import JobWatchConfig
from llm_fleet.config.sagemaker.training_job_schema import (
    each_or_expression,
    each_or_uri,
    or_flag,
    or_image,
    or_launcher,
    or_number,
    or_schedule,
    or_script,
    or_time,
    or_uri,
    training_instance_schema,
)
from llm_fleet.config.sagemaker.training_job_words import OF_TRAINING_JOB
from llm_fleet.config.services.values import TopicArn
from llm_fleet.spec.model import NamedModel, name_entries
from llm_fleet.spec.values import Days, Gibibytes, Seconds


class TrainingJobConfig(NamedModel):
    """A training job that can be started again and again; its key is its name."""

    other_words: ClassVar[Mapping[str, str]] = OF_TRAINING_JOB

    image: TrainingImageConfig = Field(examples=["pytorch"], json_schema_extra=or_image)
    """What it trains in: `pytorch`, `hugging-face`, `pytorch-neuronx`, `smp`, an image's address, or more about it."""
    source: JobSourceConfig | None = Field(default=None, examples=["train/train.py"], json_schema_extra=or_script)
    """The training script, `train/train.py`: its whole folder goes to the job. Default: none; the image has its own."""
    instance_type: str = Field(
        alias="instance", examples=["ml.g5.12xlarge"], json_schema_extra=training_instance_schema
    )
    """On what: an instance type of SageMaker training, `ml.g5.12xlarge`."""
    instance_count: int = Field(default=1, alias="count")
    """How many instances. Default: 1."""
    volume_gib: Gibibytes | None = Field(default=None, alias="volume")
    """Size of each instance's volume. Default: `30 GiB`; instances with local disks have these, and no volume."""
    max_run_seconds: Seconds = Field(default=training_job_fact("max_run_seconds")["default"], alias="max_run")
    """How long it may run, retries included, up to `28 days`. Default: `24 h`."""
    max_pending_seconds: Seconds | None = Field(default=None, alias="max_pending")
    """How long it may wait for accelerated capacity. Default: as long as SageMaker lets it."""
    spot: JobSpotConfig | None = Field(default=None, examples=["true"], json_schema_extra=or_flag)
    """`true`, or more about it: spot instances. Default: on demand."""
    warm_pool: JobWarmPoolConfig | None = Field(default=None, examples=["30 min"], json_schema_extra=or_time)
    """How long instances stay for the next job, paid in full. Default: not at all."""
    training_plan_arn: str | None = Field(default=None, alias="training_plan")
    """ARN of a training plan, capacity that was reserved. Default: none."""
    retries: int | None = None
    """How often SageMaker starts it again after an error of its own, 1 to 30. Default: never."""
    hyperparameters: Mapping[str, Any] = {}
    """What the script is told as `--name value`. No secrets. Default: nothing."""
    environment: Mapping[str, str] = {}
    """Variables of the container, in quotes where they are numbers. No secrets. Default: none."""
    channels: Mapping[str, JobChannelConfig] = Field(
        default={}, examples=["{train: s3://my-data/train}"], json_schema_extra=each_or_uri
    )
    """The data, by the names that the script knows: `{train: s3://my-data/train}`. Default: none."""
    checkpoints: JobCheckpointsConfig | None = Field(default=None, examples=["true"], json_schema_extra=or_flag)
    """`true`, a place in S3, or more about it: checkpoints. Default: none are kept."""
    output: JobOutputConfig = Field(default=JobOutputConfig(), json_schema_extra=or_uri)
    """Where results go: a place in S3, or more about it. Default: in the job's bucket."""
    metrics: Mapping[str, JobMetricConfig] = Field(
        default={}, examples=["{loss: 'loss=([0-9.]+)'}"], json_schema_extra=each_or_expression
    )
    """Numbers of the log, by name: a regular expression with a group, or more about it. Default: none."""
    distribution: JobDistributionConfig = Field(default=JobDistributionConfig(), json_schema_extra=or_launcher)
    """What starts the script's processes: `torchrun`, `smp`, `smddp`, `mpi` or `none`. Default: `none`."""
    tracking: JobTrackingConfig | None = Field(default=None, examples=["{mlflow: arn:aws:sagemaker:…}"])
    """Where the record of the experiment goes. Default: nowhere."""
    remote_debug: bool = False
    """Whether Session Manager may open a shell in the container. Default: no."""
    infra_check: bool = False
    """Whether SageMaker checks the instances' hardware first. Default: no."""
    network_isolation: bool = False
    """Whether the container can make no call at all. Default: no."""
    encrypt_between_nodes: bool | None = None
    """Whether what instances send each other is encrypted. Default: yes where there is more than one."""
    schedule: JobScheduleConfig | None = Field(
        default=None, examples=["cron(0 3 ? * SUN *)"], json_schema_extra=or_schedule
    )
    """When it is started by itself: `cron(0 3 ? * SUN *)`, `rate(7 days)`, or more about it. Default: never."""
    capacity_retries: JobCapacityRetriesConfig | None = Field(default=None, json_schema_extra=or_number)
    """Further jobs where there is no capacity: a number, or more about it. Default: five, waiting from 5 minutes to an
    hour."""
    bucket: str | None = None
    """A name under `storage.buckets` for script, results and checkpoints. Default: a bucket of the job's own."""
    alarm_topic: TopicArn | None = None
    """ARN of the SNS topic that alarms tell. Default: none; they only show."""
    log_retention_days: Days = Field(default=90, alias="logs")
    """How long the log of the state machine is kept. Default: `90 days`."""
    dashboard: bool = True
    """Whether there is a dashboard. Default: yes."""
    watched: bool = True
    """Whether the fleet's `watch` looks after it. Default: yes, where there is one."""
    watch: JobWatchConfig | None = None
    """How the fleet's watch looks after it otherwise than after the others. Default: no otherwise."""
    tags: Mapping[str, str] = {}
    """Tags of each job, next to those of the fleet. Default: none."""

    @model_validator(mode="after")
    def _tell_entries(self) -> Self:
        name_entries(self.channels)
        name_entries(self.metrics)
        return self

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that relative paths begin at; for the loader."""
        if self.source is not None:
            self.source.stand_in(directory)
