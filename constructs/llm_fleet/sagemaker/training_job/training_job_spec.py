"""What a training job of SageMaker is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.catalog.training_jobs import training_job_fact
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.training_job import check_training_job
from llm_fleet.rules.sagemaker.training_job_forms import check_job_forms
from llm_fleet.sagemaker.training_job.channel import Channel
from llm_fleet.sagemaker.training_job.checkpoints import Checkpoints
from llm_fleet.sagemaker.training_job.distribution import Distribution
from llm_fleet.sagemaker.training_job.job_metric import JobMetric
from llm_fleet.sagemaker.training_job.s3_place import S3Place
from llm_fleet.sagemaker.training_job.source_bundle import SourceBundle
from llm_fleet.sagemaker.training_job.spot import Spot
from llm_fleet.sagemaker.training_job.tracking import Tracking
from llm_fleet.sagemaker.training_job.training_image import TrainingImage
from llm_fleet.sagemaker.training_job.warm_pool import WarmPool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJobSpec:
    """What the estimators of the SageMaker SDK set, as typed values: `CreateTrainingJob` but for where it runs.

    Raises `FleetError` with all that is wrong at once (LF900 to LF903, LF960 to LF971). Heterogeneous clusters,
    UltraServers, built-in algorithms, serverless customization, Debugger and Profiler are not offered.
    """

    name: str
    """Name of the state machine that starts it, and what the names of its jobs begin with; up to 36 characters."""
    image: TrainingImage
    """The container."""
    source: SourceBundle | None = None
    """The training script. Default: none; the image, one of your own, starts by itself."""
    instance_type: str
    """E.g. `ml.g5.12xlarge`; those of CreateTrainingJob."""
    instance_count: int = 1
    """How many. Default: 1."""
    volume_gib: int | None = None
    """Size of each instance's volume. Default: 30; instances with local disks have these, and no volume."""
    max_run_seconds: int = training_job_fact("max_run_seconds")["default"]
    """How long it may run, all retries together, up to 28 days. Default: 86400, a day."""
    max_pending_seconds: int | None = None
    """How long it may wait for accelerated capacity, 1800 to 2419200. Default: SageMaker's own patience."""
    spot: Spot | None = None
    """Spot instances. Default: none; it runs on demand."""
    warm_pool: WarmPool | None = None
    """What stays for the next job. Default: nothing; idle instances are paid in full."""
    training_plan_arn: str | None = None
    """A training plan, capacity that was reserved. Default: none."""
    retries: int | None = None
    """How often SageMaker starts it again after an InternalServerError, 1 to 30. Default: never. Capacity that lacks
    is no such error."""
    hyperparameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the script is told as `--name value`: texts, numbers, truth values and lists of them. No secrets: whoever
    may describe the job reads them."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of the container. No secrets either."""
    channels: tuple[Channel, ...] = ()
    """The data. Default: none."""
    checkpoints: Checkpoints | None = None
    """Where checkpoints are kept. Default: nowhere; a job that is started again begins from the start."""
    output_uri: str | None = None
    """`s3://bucket/prefix` for what the script leaves in `SM_MODEL_DIR`. Default: in the job's bucket."""
    output_key_arn: str | None = None
    """The KMS key of that bucket. Default: it has none of its own."""
    compress_output: bool = True
    """Whether results are packed into `model.tar.gz`. Default: yes; with large models it takes long."""
    metrics: tuple[JobMetric, ...] = ()
    """What is read from the log. Default: nothing."""
    distribution: Distribution = Distribution.none()  # noqa: RUF009 - immutable
    """What starts the script's processes. Default: one process on each instance."""
    tracking: Tracking | None = None
    """Where the record of the experiment goes. Default: nowhere."""
    remote_debug: bool = False
    """Whether Session Manager may open a shell in the container (`RemoteDebugConfig`). Default: no."""
    infra_check: bool = False
    """Whether SageMaker checks the health of the instances' hardware first (`InfraCheckConfig`). Default: no."""
    network_isolation: bool = False
    """Whether the container can make no call at all, S3 included. Default: no."""
    encrypt_between_nodes: bool | None = None
    """Whether what instances send each other is encrypted, which takes time. Default: where there is more than one."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of each job. Default: those of the stack alone."""

    def __post_init__(self) -> None:
        """Check all of it."""
        subject = "TrainingJobSpec"
        raise_problems(check_job_forms(self), subject=subject)
        raise_problems(check_training_job(self), subject=subject)

    @property
    def needs_network(self) -> bool:
        """Whether it must stand in a network: a channel is on a file system."""
        return any(channel.file_system_id is not None for channel in self.channels)

    @property
    def s3_read(self) -> tuple[S3Place, ...]:
        """What the job reads in buckets that are not its own."""
        return tuple(
            S3Place(uri=channel.uri, key_arn=channel.key_arn) for channel in self.channels if channel.uri is not None
        )

    @property
    def s3_written(self) -> tuple[S3Place, ...]:
        """What the job writes, and reads again, in buckets that are not its own."""
        checkpoints, tracking = self.checkpoints, self.tracking
        places = (
            (self.output_uri, self.output_key_arn),
            (None, None) if checkpoints is None else (checkpoints.uri, checkpoints.key_arn),
            (None, None) if tracking is None else (tracking.tensorboard_uri, tracking.tensorboard_key_arn),
        )
        return tuple(S3Place(uri=uri, key_arn=key) for uri, key in places if uri is not None)
