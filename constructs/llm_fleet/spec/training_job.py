"""A SageMaker training job: instances, limits, schedule and retries.

`training_job_code` has its image and script, `training_job_data` its inputs and outputs.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, cast

from pydantic import Field

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.training_job import job_machine_fact, training_instances, training_job_fact, training_job_limit
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.spec import SHORTHAND, InRequest, Spec, Within
from llm_fleet.spec.training_job_code import Distribution, SourceBundle, TrainingImage
from llm_fleet.spec.training_job_data import Channel, Checkpoints, JobMetric, JobOutput, Tracking
from llm_fleet.spec.values import Days, Gibibytes, Seconds

_ENDED = "remove it: Debugger is closed to new customers, and Profiler ends in June 2027"

OF_TRAINING_JOB: Mapping[str, str] = {
    # Arguments of the estimators of the SageMaker SDK 2, which most documents still use.
    "image_uri": "write `image`",
    "framework_version": "write it below `image`: `image: {kind: pytorch, version: …}`",
    "pytorch_version": "write it below `image`: `image: {kind: pytorch, version: …}`",
    "transformers_version": "write it below `image`: `image: {kind: hugging-face, version: …}`",
    "py_version": "remove it: each image contains one version of Python",
    "source_dir": "write `source`: `source: train/train.py`",
    "entry_point": "write it after the folder: `source: train/train.py`",
    "dependencies": "put them into the folder of `source`",
    "role": "remove it: llm-fleet creates a role with the permissions that the job requires",
    "instance_type": "write `instance`",
    "type": "write `instance`",
    "train_instance_type": "write `instance`",
    "instance_count": "write `count`",
    "train_instance_count": "write `count`",
    "instance_groups": "remove it: clusters of several instance types are not supported",
    "volume_size": "write `volume`, with its unit: `volume: 100 GiB`",
    "train_volume_size": "write `volume`, with its unit: `volume: 100 GiB`",
    "volume_kms_key": "remove it: volumes are encrypted with the fleet's key",
    "output_kms_key": "remove it, or write it below `output`: `output: {s3: …, key: …}`",
    "train_max_run": "write `max_run`, with its unit: `max_run: 24 h`",
    "max_wait": "write it below `spot`: `spot: {max_wait: 2 days}`",
    "train_max_wait": "write it below `spot`: `spot: {max_wait: 2 days}`",
    "use_spot_instances": "write `spot: true`",
    "train_use_spot_instances": "write `spot: true`",
    "keep_alive_period_in_seconds": "write `warm_pool`, with its unit: `warm_pool: 30 min`",
    "keep_alive": "write `warm_pool`, with its unit: `warm_pool: 30 min`",
    "max_retry_attempts": "write `retries`",
    "max_retries": "write `retries`",
    "inputs": "write `channels`: `channels: {train: s3://…}`",
    "data": "write `channels`: `channels: {train: s3://…}`",
    "input_mode": "write `mode` below a channel: `channels: {train: {s3: s3://…, mode: FastFile}}`",
    "output_path": "write `output`: `output: s3://…`",
    "disable_output_compression": "write it below `output`: `output: {compress: false}`",
    "checkpoint_s3_uri": "write `checkpoints`: `checkpoints: s3://…`",
    "checkpoint_local_path": "write it below `checkpoints`: `checkpoints: {local_path: /opt/ml/checkpoints}`",
    "metric_definitions": "write `metrics`: `metrics: {loss: 'loss=([0-9.]+)'}`",
    "enable_sagemaker_metrics": "remove it: it is enabled if there are `metrics`",
    "distributions": "write `distribution`",
    "env": "write `environment`",
    "variables": "write `environment`",
    "hyper_parameters": "write `hyperparameters`",
    "subnets": "remove it: the job uses the fleet's `network`",
    "security_group_ids": "remove it: the job uses the security group of the network",
    "enable_network_isolation": "write `network_isolation`",
    "encrypt_inter_container_traffic": "write `encrypt_between_nodes`",
    "enable_remote_debug": "write `remote_debug`",
    "enable_infra_check": "write `infra_check`",
    "training_plan_arn": "write `training_plan`",
    "tensorboard_output_config": "write it below `tracking`: `tracking: {tensorboard: s3://…}`",
    "mlflow": "write it below `tracking`: `tracking: {mlflow: arn:aws:sagemaker:…}`",
    "base_job_name": "write the name as the job's key, in front of its colon",
    "name": "write the name as the job's key, in front of its colon",
    "cron": "write `schedule`",
    "rate": "write `schedule`",
    # Discontinued features.
    "compiler_config": "remove it: SageMaker Training Compiler is discontinued; call torch.compile in the script",
    "debugger_hook_config": _ENDED,
    "rules": _ENDED,
    "profiler_config": _ENDED,
    "disable_profiler": _ENDED,
    "experiment_config": "write `tracking: {mlflow: arn:aws:sagemaker:…}`: MLflow has replaced Experiments",
    "git_config": "remove it: the folder of `source` is uploaded",
    "model_dir": "remove it: the script reads the variable SM_MODEL_DIR",
    "script_mode": "remove it: it is the only mode",
    "lustre": "write it below `channels`: `channels: {train: {fsx: data}}`",
    "fsx": "write it below `channels`: `channels: {train: {fsx: data}}`",
}
"""Remedies for keys below a training job."""


_ATTEMPTS, _WAIT = (
    Limit(minimum=job_machine_fact(fact)["min"], maximum=job_machine_fact(fact)["max"])
    for fact in ("capacity_attempts", "capacity_wait_seconds")
)
_WARM = Limit(minimum=1, maximum=training_job_limit("ResourceConfig.KeepAlivePeriodInSeconds").maximum)


class Spot(Spec):
    """Spot capacity, which AWS can reclaim: SageMaker waits for capacity and restarts the script with its checkpoints.

    Without checkpoints, the script starts from the beginning each time.
    """

    switch: ClassVar[bool] = True

    max_wait_seconds: Annotated[
        Seconds | None,
        Field(alias="max_wait"),
        Within(limit=Limit(minimum=1), code=SageMakerCode.TRAINING_TIME, what="`max_wait`"),
    ] = None
    """Maximum time to wait and run, together. Default: `max_run` plus one day."""


class WarmPool(Spec):
    """Instances that are kept, and billed in full, so that the next job starts within seconds. Not with Spot instances.

    They have their own quota. An IAM policy denies starting the job with a longer time than `cap` (condition key
    `sagemaker:KeepAlivePeriod`).
    """

    keep_alive_seconds: Annotated[
        Seconds,
        SHORTHAND,
        Field(alias="keep", examples=["30 min"]),
        Within(limit=_WARM, code=SageMakerCode.TRAINING_WARM_POOL, what="`keep`"),
        InRequest("ResourceConfig.KeepAlivePeriodInSeconds"),
    ]
    """How long instances are kept after the job's end."""
    cap_seconds: Annotated[
        Seconds,
        Field(alias="cap"),
        Within(limit=_WARM, code=SageMakerCode.TRAINING_WARM_POOL, what="`cap`"),
    ] = training_job_fact("warm_pool")["cap_seconds"]
    """Maximum of `keep` that a caller can set when it starts the job; an IAM policy enforces it. Default: `1 h`."""


class JobSchedule(Spec):
    """A schedule of EventBridge Scheduler. It starts the job even if the previous run has not ended."""

    expression: Annotated[str, SHORTHAND, Field(alias="when", examples=["cron(0 3 ? * SUN *)"])]
    """`cron(minute hour day month weekday year)`, `rate(7 days)` or `at(2026-12-24T03:00:00)`."""
    time_zone: Annotated[str, Field(examples=["Europe/Vienna"])] = "UTC"
    """Time zone of `cron` and `at`. Default: `UTC`."""
    enabled: bool = True
    """Whether the schedule is enabled; `false` keeps it but starts no jobs. Default: `true`."""
    hyperparameters: Mapping[str, str] = {}
    """Hyperparameters that replace those of the job in scheduled runs; numbers in quotes. Default: none."""


class CapacityRetries(Spec):
    """More jobs of the same run if SageMaker finds no capacity; SageMaker itself tries only once.

    They continue from the run's checkpoints. A job with a watch has no capacity retries: the watch restarts it.
    """

    attempts: Annotated[
        int, SHORTHAND, Within(limit=_ATTEMPTS, code=SageMakerCode.TRAINING_CAPACITY, what="`attempts`")
    ] = job_machine_fact("capacity_attempts")["default"]
    """Number of jobs after the first, 0 to 20. Default: 5."""
    first_wait_seconds: Annotated[
        Seconds | None,
        Field(alias="first_wait"),
        Within(limit=_WAIT, code=SageMakerCode.TRAINING_CAPACITY, what="`first_wait`"),
    ] = None
    """Wait before the second job; doubled before each later job. Default: `5 min`."""
    longest_wait_seconds: Annotated[
        Seconds | None,
        Field(alias="longest_wait"),
        Within(limit=_WAIT, code=SageMakerCode.TRAINING_CAPACITY, what="`longest_wait`"),
    ] = None
    """Maximum wait before a job. Default: `1 h`, or `first_wait` if that is longer."""

    @property
    def waits(self) -> tuple[int, ...]:
        """Seconds to wait before each job after the first."""
        facts = job_machine_fact("capacity_wait_seconds")
        first: int = self.first_wait_seconds or facts["default"]
        longest: int = self.longest_wait_seconds or max(facts["longest_default"], first)
        return tuple(min(first * 2**index, longest) for index in range(self.attempts))


def _training_instances(schema: dict[str, Any]) -> None:
    """Offer the instance types of SageMaker training; a rule checks the value."""
    schema["enum"] = [name for name, facts in training_instances().items() if facts.successor is None]


class TrainingJobSpec(Spec):
    """Settings of the SageMaker SDK's estimators as typed values: `CreateTrainingJob` without network and names.

    `TrainingJob` reports all errors in it together (LF900 to LF903, LF960 to LF973). Heterogeneous clusters,
    UltraServers, built-in algorithms, serverless customization, Debugger and Profiler are not supported.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_TRAINING_JOB

    name: Annotated[str, Field(alias=OWN_KEY, examples=["gpt2"])]
    """Name of the state machine that starts the job, and prefix of the names of its jobs; at most 36 characters."""
    image: Annotated[TrainingImage, Field(examples=["pytorch"])]
    """Container image: `pytorch`, `hugging-face`, `pytorch-neuronx`, `smp`, the URI of an image, or a mapping."""
    source: Annotated[SourceBundle | None, Field(examples=["train/train.py"])] = None
    """Training script, `train/train.py`; its whole folder is uploaded. Default: none; the image contains the script."""
    instance_type: Annotated[
        str, Field(alias="instance", examples=["ml.g5.12xlarge"], json_schema_extra=_training_instances)
    ]
    """Instance type of SageMaker training, e.g. `ml.g5.12xlarge`."""
    instance_count: Annotated[
        int,
        Field(alias="count"),
        Within(limit=Limit(minimum=1), code=SageMakerCode.TRAINING_SETTING, what="`count`"),
    ] = 1
    """Number of instances. Default: 1."""
    volume_gib: Annotated[
        Gibibytes | None,
        Field(alias="volume"),
        Within(limit=Limit(minimum=1), code=SageMakerCode.TRAINING_SETTING, what="`volume`"),
    ] = None
    """Volume size of each instance. Default: `30 GiB`; instance types with local disks use these instead of a
    volume."""
    max_run_seconds: Annotated[
        Seconds,
        Field(alias="max_run"),
        Within(
            limit=Limit(minimum=1, maximum=training_job_fact("max_run_seconds")["maximum"]),
            code=SageMakerCode.TRAINING_TIME,
            what="`max_run`",
            above="write at most 28 days; continue a longer training from a checkpoint in another job",
        ),
        InRequest("StoppingCondition.MaxRuntimeInSeconds"),
    ] = training_job_fact("max_run_seconds")["default"]
    """Maximum run time, including retries, up to `28 days`. Default: `24 h`."""
    max_pending_seconds: Annotated[
        Seconds | None,
        Field(alias="max_pending"),
        Within(
            limit=training_job_limit("StoppingCondition.MaxPendingTimeInSeconds"),
            code=SageMakerCode.TRAINING_TIME,
            what="`max_pending`",
        ),
        InRequest("StoppingCondition.MaxPendingTimeInSeconds"),
    ] = None
    """Maximum time to wait for accelerated capacity. Default: SageMaker's own limit."""
    spot: Annotated[Spot | None, Field(examples=["true"])] = None
    """Spot instances: `true`, or a mapping. Default: on-demand instances."""
    warm_pool: Annotated[WarmPool | None, Field(examples=["30 min"])] = None
    """How long instances are kept for the next job, billed in full. Default: not at all."""
    training_plan_arn: Annotated[
        str | None, Field(alias="training_plan"), InRequest("ResourceConfig.TrainingPlanArn")
    ] = None
    """ARN of a training plan, which is reserved capacity. Default: none."""
    retries: Annotated[
        int | None,
        Within(
            limit=training_job_limit("RetryStrategy.MaximumRetryAttempts"),
            code=SageMakerCode.TRAINING_TIME,
            what="`retries`",
            below="remove it for no retries",
        ),
        InRequest("RetryStrategy.MaximumRetryAttempts"),
    ] = None
    """How many times SageMaker retries the job after an internal error, 1 to 30. Default: never."""
    hyperparameters: Mapping[str, Any] = {}
    """Hyperparameters, passed to the script as `--name value`. No secrets. Default: none."""
    environment: Mapping[str, str] = {}
    """Environment variables of the container; numbers in quotes. No secrets. Default: none."""
    channels: Annotated[Mapping[str, Channel], Field(examples=["{train: s3://my-data/train}"])] = {}
    """Input data, by channel name: `{train: s3://my-data/train}`. Default: none."""
    checkpoints: Annotated[Checkpoints | None, Field(examples=["true"])] = None
    """Checkpoints in S3: `true`, an S3 URI, or a mapping. Default: none."""
    output: JobOutput = JobOutput()
    """Results of the job: an S3 URI, or a mapping. Default: in the job's bucket."""
    metrics: Annotated[Mapping[str, JobMetric], Field(examples=["{loss: 'loss=([0-9.]+)'}"])] = {}
    """Metrics read from the log, by name: a regular expression with a group, or a mapping. Default: none."""
    distribution: Distribution = Distribution()
    """Launcher of the script's processes: `torchrun`, `smp`, `smddp`, `mpi` or `none`. Default: `none`."""
    tracking: Annotated[Tracking | None, Field(examples=["{mlflow: arn:aws:sagemaker:…}"])] = None
    """Experiment tracking. Default: none."""
    remote_debug: bool = False
    """Whether Session Manager can open a shell in the container. Default: no."""
    infra_check: bool = False
    """Whether SageMaker checks the instances' hardware before the job. Default: no."""
    network_isolation: bool = False
    """Network isolation: whether the container has no network access. Default: no."""
    encrypt_between_nodes: bool | None = None
    """Whether traffic between instances is encrypted. Default: yes with more than one instance."""
    schedule: Annotated[JobSchedule | None, Field(examples=["cron(0 3 ? * SUN *)"])] = None
    """Schedule: `cron(0 3 ? * SUN *)`, `rate(7 days)`, or a mapping. Default: none."""
    capacity_retries: CapacityRetries | None = None
    """Retries without capacity: a number of jobs, or a mapping. Default: 5, after waits of 5 minutes up to an hour."""
    log_retention_days: Annotated[Days, Field(alias="logs")] = 90
    """Retention of the state machine's log. Default: `90 days`."""
    dashboard: bool = True
    """Whether a CloudWatch dashboard is created. Default: yes."""
    tags: Mapping[str, str] = {}
    """Tags of each job, in addition to those of the fleet. Default: none."""

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Read a string as the URI of the channel `training`, like the SDK."""
        job = cast("dict[str, Any]", written) if isinstance(written, dict) else {}
        channels = job.get("channels")
        return {**job, "channels": {"training": channels}} if isinstance(channels, str) else written  # pyright: ignore[reportUnknownVariableType]

    @property
    def wait_seconds(self) -> int | None:
        """Maximum time to wait and run, together, in seconds; `None` without Spot instances."""
        if self.spot is None:
            return None
        return self.spot.max_wait_seconds or self.max_run_seconds + training_job_fact("spot_wait_seconds")

    @property
    def needs_network(self) -> bool:
        """Whether it needs a VPC, because a channel is on a file system."""
        return any(channel.file_system_id is not None for channel in self.channels.values())

    @property
    def s3_read(self) -> tuple[tuple[str, str | None], ...]:
        """S3 URIs that the job reads in buckets other than its own, each with the bucket's KMS key."""
        return tuple((channel.uri, channel.key_arn) for channel in self.channels.values() if channel.uri is not None)

    @property
    def s3_written(self) -> tuple[tuple[str, str | None], ...]:
        """S3 URIs that the job writes and reads again in buckets other than its own, each with the bucket's KMS key."""
        checkpoints, tracking = self.checkpoints, self.tracking
        places = (
            (self.output.uri, self.output.key_arn),
            (None, None) if checkpoints is None else (checkpoints.uri, checkpoints.key_arn),
            (None, None) if tracking is None else (tracking.tensorboard_uri, tracking.tensorboard_key_arn),
        )
        return tuple((uri, key) for uri, key in places if uri is not None)
