"""A training job of SageMaker: when and on what it runs.

`training_job_code` has what it runs, `training_job_data` what it reads and writes.
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

_ENDED = "leave it out: Debugger is closed to new customers, and Profiler ends in June 2027"

OF_TRAINING_JOB: Mapping[str, str] = {
    # Arguments of the estimators of sagemaker 2, which the documents of these years are written with.
    "image_uri": "write `image`",
    "framework_version": "write it below `image`: `image: {kind: pytorch, version: …}`",
    "pytorch_version": "write it below `image`: `image: {kind: pytorch, version: …}`",
    "transformers_version": "write it below `image`: `image: {kind: hugging-face, version: …}`",
    "py_version": "leave it out: each image has one Python",
    "source_dir": "write `source`: `source: train/train.py`",
    "entry_point": "write it behind the folder: `source: train/train.py`",
    "dependencies": "put them into the folder of `source`",
    "role": "leave it out: the job has a role of its own, which may do what it needs",
    "instance_type": "write `instance`",
    "type": "write `instance`",
    "train_instance_type": "write `instance`",
    "instance_count": "write `count`",
    "train_instance_count": "write `count`",
    "instance_groups": "leave it out: clusters of several instance types are not offered",
    "volume_size": "write `volume`, with its unit: `volume: 100 GiB`",
    "train_volume_size": "write `volume`, with its unit: `volume: 100 GiB`",
    "volume_kms_key": "leave it out: volumes are encrypted with the fleet's key",
    "output_kms_key": "leave it out, or write it below `output`: `output: {s3: …, key: …}`",
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
    "enable_sagemaker_metrics": "leave it out: it is on where there are `metrics`",
    "distributions": "write `distribution`",
    "env": "write `environment`",
    "variables": "write `environment`",
    "hyper_parameters": "write `hyperparameters`",
    "subnets": "leave it out: the job stands in the fleet's `network`",
    "security_group_ids": "leave it out: the job has the network's",
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
    # What has ended.
    "compiler_config": "leave it out: SageMaker Training Compiler has ended; call torch.compile in the script",
    "debugger_hook_config": _ENDED,
    "rules": _ENDED,
    "profiler_config": _ENDED,
    "disable_profiler": _ENDED,
    "experiment_config": "write `tracking: {mlflow: arn:aws:sagemaker:…}`: Experiments has given way to MLflow",
    "git_config": "leave it out: the folder of `source` is what the job gets",
    "model_dir": "leave it out: the script finds it in the variable SM_MODEL_DIR",
    "script_mode": "leave it out: it is the only mode",
    "lustre": "write it below `channels`: `channels: {train: {fsx: data}}`",
    "fsx": "write it below `channels`: `channels: {train: {fsx: data}}`",
}
"""Below a training job."""


_ATTEMPTS, _WAIT = (
    Limit(minimum=job_machine_fact(fact)["min"], maximum=job_machine_fact(fact)["max"])
    for fact in ("capacity_attempts", "capacity_wait_seconds")
)
_WARM = Limit(minimum=1, maximum=training_job_limit("ResourceConfig.KeepAlivePeriodInSeconds").maximum)


class Spot(Spec):
    """Capacity that AWS may take back: SageMaker waits for more, and starts the script again with its checkpoints.

    Without checkpoints, the script begins from the start each time.
    """

    switch: ClassVar[bool] = True

    max_wait_seconds: Annotated[
        Seconds | None,
        Field(alias="max_wait"),
        Within(limit=Limit(minimum=1), code=SageMakerCode.TRAINING_TIME, what="the time that it may wait and run"),
    ] = None
    """For how long the job may wait and run altogether. Default: a day more than it may run."""


class WarmPool(Spec):
    """Instances that stay, and are paid in full, so that the next job starts within seconds. Not with spot instances.

    They have a quota of their own. A policy refuses a start of the job with a longer time than the cap (IAM's condition
    key `sagemaker:KeepAlivePeriod`).
    """

    keep_alive_seconds: Annotated[
        Seconds,
        SHORTHAND,
        Field(alias="keep", examples=["30 min"]),
        Within(limit=_WARM, code=SageMakerCode.TRAINING_WARM_POOL, what="the warm time"),
        InRequest("ResourceConfig.KeepAlivePeriodInSeconds"),
    ]
    """For how long after the job's end."""
    cap_seconds: Annotated[
        Seconds,
        Field(alias="cap"),
        Within(limit=_WARM, code=SageMakerCode.TRAINING_WARM_POOL, what="the cap of warm time"),
    ] = training_job_fact("warm_pool")["cap_seconds"]
    """For how long at most, whatever a start of the job asks for; a policy sees to it. Default: `1 h`."""


class JobSchedule(Spec):
    """A schedule of EventBridge Scheduler. It starts the job whether the last run has ended or not."""

    expression: Annotated[str, SHORTHAND, Field(alias="when", examples=["cron(0 3 ? * SUN *)"])]
    """`cron(minute hour day month weekday year)`, `rate(7 days)` or `at(2026-12-24T03:00:00)`."""
    time_zone: Annotated[str, Field(examples=["Europe/Vienna"])] = "UTC"
    """In which `cron` and `at` count. Default: `UTC`."""
    enabled: bool = True
    """`false` keeps the schedule, and it starts nothing. Default: `true`."""
    hyperparameters: Mapping[str, str] = {}
    """What scheduled runs have otherwise, in quotes where they are numbers. Default: nothing."""


class CapacityRetries(Spec):
    """Further jobs of the same run after one that found no capacity; SageMaker itself tries only once.

    They go on from the run's checkpoints. A job under a watch has none: the watch starts it again.
    """

    attempts: Annotated[
        int, SHORTHAND, Within(limit=_ATTEMPTS, code=SageMakerCode.TRAINING_CAPACITY, what="the number of further jobs")
    ] = job_machine_fact("capacity_attempts")["default"]
    """How many after the first, 0 to 20. Default: 5."""
    first_wait_seconds: Annotated[
        Seconds | None,
        Field(alias="first_wait"),
        Within(limit=_WAIT, code=SageMakerCode.TRAINING_CAPACITY, what="the wait before the second job"),
    ] = None
    """Before the second job; doubled before each further one. Default: `5 min`."""
    longest_wait_seconds: Annotated[
        Seconds | None,
        Field(alias="longest_wait"),
        Within(limit=_WAIT, code=SageMakerCode.TRAINING_CAPACITY, what="the longest wait before a job"),
    ] = None
    """However often it was doubled. Default: `1 h`, or the first wait where that is longer."""

    @property
    def waits(self) -> tuple[int, ...]:
        """Seconds before each further job."""
        facts = job_machine_fact("capacity_wait_seconds")
        first: int = self.first_wait_seconds or facts["default"]
        longest: int = self.longest_wait_seconds or max(facts["longest_default"], first)
        return tuple(min(first * 2**index, longest) for index in range(self.attempts))


def _training_instances(schema: dict[str, Any]) -> None:
    """Offer the instance types of SageMaker training; which there are is for the rule to tell."""
    schema["enum"] = [name for name, facts in training_instances().items() if facts.successor is None]


class TrainingJobSpec(Spec):
    """What the estimators of the SageMaker SDK set, as typed values: `CreateTrainingJob` but for where it runs.

    `TrainingJob` refuses what is wrong with it, all at once (LF900 to LF903, LF960 to LF973). Heterogeneous clusters,
    UltraServers, built-in algorithms, serverless customization, Debugger and Profiler are not offered.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_TRAINING_JOB

    name: Annotated[str, Field(alias=OWN_KEY, examples=["gpt2"])]
    """Name of the state machine that starts it, and what the names of its jobs begin with; up to 36 characters."""
    image: Annotated[TrainingImage, Field(examples=["pytorch"])]
    """What it trains in: `pytorch`, `hugging-face`, `pytorch-neuronx`, `smp`, an image's address, or more about it."""
    source: Annotated[SourceBundle | None, Field(examples=["train/train.py"])] = None
    """The training script, `train/train.py`: its whole folder goes to the job. Default: none; the image has its own."""
    instance_type: Annotated[
        str, Field(alias="instance", examples=["ml.g5.12xlarge"], json_schema_extra=_training_instances)
    ]
    """On what: an instance type of SageMaker training, `ml.g5.12xlarge`."""
    instance_count: Annotated[
        int,
        Field(alias="count"),
        Within(limit=Limit(minimum=1), code=SageMakerCode.TRAINING_SETTING, what="the number of instances"),
    ] = 1
    """How many instances. Default: 1."""
    volume_gib: Annotated[
        Gibibytes | None,
        Field(alias="volume"),
        Within(limit=Limit(minimum=1), code=SageMakerCode.TRAINING_SETTING, what="the volume"),
    ] = None
    """Size of each instance's volume. Default: `30 GiB`; instances with local disks have these, and no volume."""
    max_run_seconds: Annotated[
        Seconds,
        Field(alias="max_run"),
        Within(
            limit=Limit(minimum=1, maximum=training_job_fact("max_run_seconds")["maximum"]),
            code=SageMakerCode.TRAINING_TIME,
            what="the time that it may run",
            above="write 28 days at most; a training that takes longer goes on from a checkpoint in another job",
        ),
        InRequest("StoppingCondition.MaxRuntimeInSeconds"),
    ] = training_job_fact("max_run_seconds")["default"]
    """How long it may run, retries included, up to `28 days`. Default: `24 h`."""
    max_pending_seconds: Annotated[
        Seconds | None,
        Field(alias="max_pending"),
        Within(
            limit=training_job_limit("StoppingCondition.MaxPendingTimeInSeconds"),
            code=SageMakerCode.TRAINING_TIME,
            what="the time that it may be pending",
        ),
        InRequest("StoppingCondition.MaxPendingTimeInSeconds"),
    ] = None
    """How long it may wait for accelerated capacity. Default: as long as SageMaker lets it."""
    spot: Annotated[Spot | None, Field(examples=["true"])] = None
    """`true`, or more about it: spot instances. Default: on demand."""
    warm_pool: Annotated[WarmPool | None, Field(examples=["30 min"])] = None
    """How long instances stay for the next job, paid in full. Default: not at all."""
    training_plan_arn: Annotated[
        str | None, Field(alias="training_plan"), InRequest("ResourceConfig.TrainingPlanArn")
    ] = None
    """ARN of a training plan, capacity that was reserved. Default: none."""
    retries: Annotated[
        int | None,
        Within(
            limit=training_job_limit("RetryStrategy.MaximumRetryAttempts"),
            code=SageMakerCode.TRAINING_TIME,
            what="the number of retries",
            below="leave it out: then SageMaker does not retry",
        ),
        InRequest("RetryStrategy.MaximumRetryAttempts"),
    ] = None
    """How often SageMaker starts it again after an error of its own, 1 to 30. Default: never."""
    hyperparameters: Mapping[str, Any] = {}
    """What the script is told as `--name value`. No secrets. Default: nothing."""
    environment: Mapping[str, str] = {}
    """Variables of the container, in quotes where they are numbers. No secrets. Default: none."""
    channels: Annotated[Mapping[str, Channel], Field(examples=["{train: s3://my-data/train}"])] = {}
    """The data, by the names that the script knows: `{train: s3://my-data/train}`. Default: none."""
    checkpoints: Annotated[Checkpoints | None, Field(examples=["true"])] = None
    """`true`, a place in S3, or more about it: checkpoints. Default: none are kept."""
    output: JobOutput = JobOutput()
    """Where results go: a place in S3, or more about it. Default: in the job's bucket."""
    metrics: Annotated[Mapping[str, JobMetric], Field(examples=["{loss: 'loss=([0-9.]+)'}"])] = {}
    """Numbers of the log, by name: a regular expression with a group, or more about it. Default: none."""
    distribution: Distribution = Distribution()
    """What starts the script's processes: `torchrun`, `smp`, `smddp`, `mpi` or `none`. Default: `none`."""
    tracking: Annotated[Tracking | None, Field(examples=["{mlflow: arn:aws:sagemaker:…}"])] = None
    """Where the record of the experiment goes. Default: nowhere."""
    remote_debug: bool = False
    """Whether Session Manager may open a shell in the container. Default: no."""
    infra_check: bool = False
    """Whether SageMaker checks the instances' hardware first. Default: no."""
    network_isolation: bool = False
    """Whether the container can make no call at all. Default: no."""
    encrypt_between_nodes: bool | None = None
    """Whether what instances send each other is encrypted. Default: yes where there is more than one."""
    schedule: Annotated[JobSchedule | None, Field(examples=["cron(0 3 ? * SUN *)"])] = None
    """When it is started by itself: `cron(0 3 ? * SUN *)`, `rate(7 days)`, or more about it. Default: never."""
    capacity_retries: CapacityRetries | None = None
    """Further jobs where there is no capacity: a number, or more about it. Default: five, waiting from 5 minutes to an
    hour."""
    log_retention_days: Annotated[Days, Field(alias="logs")] = 90
    """How long the log of the state machine is kept. Default: `90 days`."""
    dashboard: bool = True
    """Whether there is a dashboard. Default: yes."""
    tags: Mapping[str, str] = {}
    """Tags of each job, next to those of the fleet. Default: none."""

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Let one place alone be the channel that the SDK calls `training` too."""
        job = cast("dict[str, Any]", written) if isinstance(written, dict) else {}
        channels = job.get("channels")
        return {**job, "channels": {"training": channels}} if isinstance(channels, str) else written  # pyright: ignore[reportUnknownVariableType]

    @property
    def wait_seconds(self) -> int | None:
        """For how long it may wait and run altogether; `None` where it does not run on spot instances."""
        if self.spot is None:
            return None
        return self.spot.max_wait_seconds or self.max_run_seconds + training_job_fact("spot_wait_seconds")

    @property
    def needs_network(self) -> bool:
        """Whether it must stand in a network: a channel is on a file system."""
        return any(channel.file_system_id is not None for channel in self.channels.values())

    @property
    def s3_read(self) -> tuple[tuple[str, str | None], ...]:
        """What the job reads in buckets that are not its own, each with the bucket's key."""
        return tuple((channel.uri, channel.key_arn) for channel in self.channels.values() if channel.uri is not None)

    @property
    def s3_written(self) -> tuple[tuple[str, str | None], ...]:
        """What the job writes, and reads again, in buckets that are not its own, each with the bucket's key."""
        checkpoints, tracking = self.checkpoints, self.tracking
        places = (
            (self.output.uri, self.output.key_arn),
            (None, None) if checkpoints is None else (checkpoints.uri, checkpoints.key_arn),
            (None, None) if tracking is None else (tracking.tensorboard_uri, tracking.tensorboard_key_arn),
        )
        return tuple((uri, key) for uri, key in places if uri is not None)
