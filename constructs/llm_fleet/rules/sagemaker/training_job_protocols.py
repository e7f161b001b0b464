"""What the rules of a training job ask of it: read-only attributes, all plain values.

The construct's value classes and the fleet file's models both have this shape, so that one rule serves both.
Any value may be an unresolved CDK token, but for names, instance types and versions; the rules pass over those.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from llm_fleet.rules.sagemaker.training_job_terms import DistributionKind, InputMode, TrainingImageKind
from llm_fleet.rules.training.smp_protocols import SmpLike


class TrainingImageLike(Protocol):
    """The container that the job trains in (`TrainingImage`)."""

    @property
    def kind(self) -> TrainingImageKind:
        """Which line of images."""
        ...

    @property
    def version(self) -> str | None:
        """Which of that line; `None` is the catalog's, and of an own image."""
        ...

    @property
    def own_uri(self) -> str | None:
        """The address of an own image; else `None`."""
        ...


class SourceLike(Protocol):
    """The folder with the training script (`SourceBundle`)."""

    @property
    def entry_point(self) -> str:
        """The script, from the folder."""
        ...

    @property
    def files(self) -> Collection[str] | None:
        """What lies in the folder, each from there with `/`; `None` where nobody has looked."""
        ...


class ChannelLike(Protocol):
    """Data that the script finds below `/opt/ml/input/data/<name>` (`Channel`)."""

    @property
    def name(self) -> str:
        """The channel's name."""
        ...

    @property
    def uri(self) -> str | None:
        """Its place in S3; `None` of one on a file system."""
        ...

    @property
    def file_system_id(self) -> str | None:
        """Id of the FSx for Lustre file system; `None` of one in S3."""
        ...

    @property
    def directory(self) -> str | None:
        """`/<mount name>/…` on the file system; `None` of one in S3."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether the script may not write there; of a file system."""
        ...

    @property
    def input_mode(self) -> InputMode:
        """How it reaches the container."""
        ...

    @property
    def sharded(self) -> bool:
        """Whether each instance gets a part of the objects, and not all."""
        ...

    @property
    def manifest(self) -> bool:
        """Whether `uri` is a manifest, which lists the objects."""
        ...

    @property
    def compressed(self) -> bool:
        """Whether the objects are to be unpacked by gzip; in Pipe mode."""
        ...

    @property
    def content_type(self) -> str | None:
        """Its MIME type, for scripts that ask."""
        ...

    @property
    def key_arn(self) -> str | None:
        """The KMS key of its bucket; `None` where it has none of its own."""
        ...


class CheckpointsLike(Protocol):
    """Where checkpoints are kept (`Checkpoints`)."""

    @property
    def uri(self) -> str | None:
        """A prefix in S3; `None` is one in the job's own bucket."""
        ...

    @property
    def local_path(self) -> str:
        """Where the script writes them."""
        ...


class SpotLike(Protocol):
    """Spot instances (`Spot`)."""

    @property
    def max_wait_seconds(self) -> int | None:
        """For how long the job may wait and run altogether; `None` is a day more than it may run."""
        ...


class WarmPoolLike(Protocol):
    """Instances that stay for the next job (`WarmPool`)."""

    @property
    def keep_alive_seconds(self) -> int:
        """For how long after the job's end."""
        ...

    @property
    def cap_seconds(self) -> int:
        """For how long at most, whoever starts a job by this role."""
        ...


class MetricLike(Protocol):
    """A number that is read from the job's log (`JobMetric`)."""

    @property
    def name(self) -> str:
        """The metric's name."""
        ...

    @property
    def regex(self) -> str:
        """A regular expression whose first group is the number."""
        ...

    @property
    def above(self) -> float | None:
        """An alarm goes off above this; `None`: none."""
        ...

    @property
    def below(self) -> float | None:
        """An alarm goes off below this; `None`: none."""
        ...


class DistributionLike(Protocol):
    """What starts the processes of the script (`Distribution`)."""

    @property
    def kind(self) -> DistributionKind:
        """Which launcher."""
        ...

    @property
    def smp_configuration(self) -> SmpLike | None:
        """The configuration of SMP v2, with it."""
        ...

    @property
    def processes_per_host(self) -> int | None:
        """With MPI: how many processes on each instance; `None` is one for each accelerator."""
        ...


class TrackingLike(Protocol):
    """Where the record of an experiment goes (`Tracking`)."""

    @property
    def mlflow_arn(self) -> str | None:
        """ARN of an MLflow app or tracking server."""
        ...

    @property
    def experiment(self) -> str | None:
        """The experiment in it; `None` is the job's name."""
        ...

    @property
    def tensorboard_uri(self) -> str | None:
        """A prefix in S3 for TensorBoard's files."""
        ...


class TrainingJobLike(Protocol):
    """A training job (`TrainingJobSpec`)."""

    @property
    def name(self) -> str:
        """What the names of its jobs begin with."""
        ...

    @property
    def image(self) -> TrainingImageLike:
        """The container."""
        ...

    @property
    def source(self) -> SourceLike | None:
        """The script; `None` for an image that has its own."""
        ...

    @property
    def instance_type(self) -> str:
        """Its `ml.` name."""
        ...

    @property
    def instance_count(self) -> int:
        """How many."""
        ...

    @property
    def volume_gib(self) -> int | None:
        """Size of each instance's volume; `None` is the catalog's, or the local disks."""
        ...

    @property
    def max_run_seconds(self) -> int:
        """How long it may run."""
        ...

    @property
    def max_pending_seconds(self) -> int | None:
        """How long it may wait for capacity."""
        ...

    @property
    def spot(self) -> SpotLike | None:
        """Spot instances; `None`: on demand."""
        ...

    @property
    def warm_pool(self) -> WarmPoolLike | None:
        """What stays for the next job; `None`: nothing."""
        ...

    @property
    def training_plan_arn(self) -> str | None:
        """The reserved capacity that it runs on."""
        ...

    @property
    def retries(self) -> int | None:
        """How often SageMaker itself starts it again after an error of its own."""
        ...

    @property
    def hyperparameters(self) -> Mapping[str, Any]:
        """What the script is told as arguments."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """What the container is told as variables."""
        ...

    @property
    def channels(self) -> Sequence[ChannelLike]:
        """The data."""
        ...

    @property
    def checkpoints(self) -> CheckpointsLike | None:
        """Where checkpoints are kept; `None`: nowhere."""
        ...

    @property
    def output_uri(self) -> str | None:
        """A prefix in S3 for what the script leaves; `None` is one in the job's own bucket."""
        ...

    @property
    def metrics(self) -> Sequence[MetricLike]:
        """What is read from the log."""
        ...

    @property
    def distribution(self) -> DistributionLike:
        """What starts the script's processes."""
        ...

    @property
    def tracking(self) -> TrackingLike | None:
        """Where the record of the experiment goes; `None`: nowhere."""
        ...

    @property
    def remote_debug(self) -> bool:
        """Whether Session Manager opens a shell in the container."""
        ...

    @property
    def network_isolation(self) -> bool:
        """Whether the container reaches nothing."""
        ...

    @property
    def tags(self) -> Mapping[str, str]:
        """Of each job."""
        ...
