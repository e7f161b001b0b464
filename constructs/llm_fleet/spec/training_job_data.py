"""Data of a SageMaker training job: channels, checkpoints, results, metrics of its log, experiment tracking."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Protocol

from pydantic import Field

from llm_fleet.catalog.training_job import training_job_fact
from llm_fleet.spec.spec import PYTHON_ONLY, SHORTHAND, Spec
from llm_fleet.spec.values import KeyArn


class InputMode(StrEnum):
    """Input mode of a channel (`TrainingInputMode`)."""

    FILE = "File"
    """Downloaded before the script starts."""
    FAST_FILE = "FastFile"
    """Streamed while the script reads files."""
    PIPE = "Pipe"
    """Streamed through named pipes, which the script must support."""


class Mounted(Protocol):
    """An FSx for Lustre file system, made or imported."""

    @property
    def file_system_id(self) -> str:
        """Its id, which may be a token."""
        ...

    @property
    def mount_name(self) -> str:
        """Its mount name, which may be a token."""
        ...


class Channel(Spec):
    """Input data that the script finds in `/opt/ml/input/data/<name>`: from S3, or from FSx for Lustre.

    EFS, augmented manifests and RecordIO are not supported. Errors have LF963.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("uri", "s3_uri", "s3_data"), "write `s3`"),
        "path": "write `s3`, or `fsx`",
        "lustre": "write `fsx`",
        "directory_path": "write `fsx`, without the mount name in front",
        "file_system_id": "remove it: `fsx` is a folder of the file system under `storage.fsx`",
        "efs": "copy the data to S3 or FSx for Lustre: EFS is not supported",
        "input_mode": "write `mode`",
        "distribution": "write `sharded: true` for ShardedByS3Key",
        **dict.fromkeys(("fast-file", "fastfile"), "write `FastFile`"),
        "file": "write `File`",
        "pipe": "write `Pipe`",
    }

    uri: Annotated[str | None, SHORTHAND, Field(alias="s3", examples=["s3://my-data/train"])] = None
    """S3 URI, e.g. `s3://my-data/train`."""
    file_system_id: Annotated[str | None, Field(alias=f"{PYTHON_ONLY} file_system_id")] = None
    """Id of an FSx for Lustre file system, instead of `uri`. The job then needs a network with access to it."""
    directory: Annotated[str | None, Field(alias=f"{PYTHON_ONLY} directory")] = None
    """Folder on that file system, including the mount name: `/fsx/data`."""
    read_only: bool = True
    """On a file system: whether the script can only read. Default: yes."""
    input_mode: Annotated[InputMode, Field(alias="mode")] = InputMode.FILE
    """`File` downloads the data before the script starts, `FastFile` streams what is read. Default: `File`."""
    sharded: bool = False
    """Whether each instance gets only a part of the objects. Default: no; each gets all."""
    manifest: bool = False
    """Whether `s3` is a manifest that lists the objects. Default: no, it is a prefix."""
    compressed: bool = False
    """Whether objects are decompressed with gzip, in Pipe mode. Default: no."""
    content_type: str | None = None
    """MIME type, for images that require it. Default: none."""
    key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of a bucket that is not part of the fleet. Default: none."""

    @classmethod
    def from_lustre(cls, file_system: Mounted, *, directory: str = "", read_only: bool = True) -> "Channel":
        """Return the folder `directory` (default: all) of a file system of this app or an imported one."""
        return cls(
            file_system_id=file_system.file_system_id,
            directory=below_mount(file_system.mount_name, directory),
            read_only=read_only,
        )


def below_mount(mount_name: str, directory: str) -> str:
    """Return `directory`, relative to the root of a file system, as SageMaker's API requires it."""
    below = directory.strip("/")
    return f"/{mount_name}" + (f"/{below}" if below else "")


class Checkpoints(Spec):
    """A folder of the container that is copied to S3 while the script runs, and back before the script starts again.

    Each run has its own prefix below `uri`: a restarted run continues, and a new run starts from the beginning. The
    script must write checkpoints, and look for one when it starts.
    """

    switch: ClassVar[bool] = True
    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("uri", "s3_uri"), "write `s3`"),
        **dict.fromkeys(("path", "local"), "write `local_path`"),
    }

    uri: Annotated[str | None, SHORTHAND, Field(alias="s3")] = None
    """S3 URI, `s3://bucket/prefix`; each run has its own folder below it. Default: in the job's bucket."""
    local_path: str = training_job_fact("checkpoint_path")
    """Folder to which the script writes them. Default: `/opt/ml/checkpoints`."""
    key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of that bucket. Default: none."""


class JobOutput(Spec):
    """Results: the files that the script writes to `SM_MODEL_DIR`."""

    other_words: ClassVar[Mapping[str, str]] = {"uri": "write `s3`", "path": "write `s3`"}

    uri: Annotated[str | None, SHORTHAND, Field(alias="s3", examples=["s3://my-models/gpt2"])] = None
    """S3 URI, `s3://bucket/prefix`. Default: in the job's bucket."""
    key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of that bucket. Default: none."""
    compress: bool = True
    """Whether results are packed into `model.tar.gz`, which is slow for large models. Default: yes."""


class JobMetric(Spec):
    """A CloudWatch metric that SageMaker reads from lines of the job's log (`/aws/sagemaker/TrainingJobs`).

    A regular expression that does not compile, or has no group, is an error (LF967).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("Regex", "pattern"), "write `regex`"),
        "max": "write `above`",
        "min": "write `below`",
    }

    regex: Annotated[str, SHORTHAND, Field(examples=["'loss=([0-9.]+)'"])]
    """A regular expression whose first group is the number."""
    above: float | None = None
    """Alarm threshold: the alarm is in ALARM while the metric is above it. Default: no alarm."""
    below: float | None = None
    """Alarm threshold: the alarm is in ALARM while the metric is below it. Default: no alarm."""


class Tracking(Spec):
    """MLflow, TensorBoard, or both. The old Experiments SDK and Debugger are discontinued and not supported."""

    other_words: ClassVar[Mapping[str, str]] = {
        "mlflow_tracking_uri": "write `mlflow`",
        "experiment_name": "write `experiment`",
        "s3_output_path": "write `tensorboard`",
    }

    mlflow_arn: Annotated[str | None, Field(alias="mlflow")] = None
    """ARN of a SageMaker MLflow app or tracking server. Default: none."""
    experiment: str | None = None
    """Name of the experiment in MLflow. Default: the job's name."""
    tensorboard_uri: Annotated[str | None, Field(alias="tensorboard")] = None
    """S3 URI, `s3://bucket/prefix`, for the files below `/opt/ml/output/tensorboard`. Default: none."""
    tensorboard_key_arn: Annotated[KeyArn | None, Field(alias="tensorboard_key")] = None
    """ARN of the KMS key of that bucket. Default: none."""
