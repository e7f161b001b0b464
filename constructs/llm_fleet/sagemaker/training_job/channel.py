"""Data that a training job reads."""

from dataclasses import dataclass

from llm_fleet.rules.sagemaker.training_job_terms import InputMode
from llm_fleet.storage.mountable import MountableLustre


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Data that the script finds in `/opt/ml/input/data/<name>`: from S3, or from FSx for Lustre.

    EFS, augmented manifests and RecordIO are not offered. What is wrong is told by `TrainingJobSpec` (LF963).
    """

    name: str
    """Letters, digits, dots, hyphens and underscores, e.g. `train`."""
    uri: str | None = None
    """Its place in S3; `None` of one on a file system."""
    file_system_id: str | None = None
    """Id of the file system; `None` of one in S3."""
    directory: str | None = None
    """`/<mount name>/…` on the file system; `None` of one in S3."""
    read_only: bool = True
    """Whether the script may not write there; S3 is never written to."""
    input_mode: InputMode = InputMode.FILE
    """How it reaches the container."""
    sharded: bool = False
    """Whether each instance gets a part of the objects, and not all of them."""
    manifest: bool = False
    """Whether `uri` is a manifest, which lists the objects."""
    compressed: bool = False
    """Whether objects are unpacked by gzip on their way, in Pipe mode."""
    content_type: str | None = None
    """Its MIME type, for images that ask."""
    key_arn: str | None = None
    """The KMS key of its bucket, which the job may then decrypt with; `None` where it has none of its own."""

    @classmethod
    def s3(
        cls,
        name: str,
        uri: str,
        *,
        input_mode: InputMode = InputMode.FILE,
        sharded: bool = False,
        manifest: bool = False,
        compressed: bool = False,
        content_type: str | None = None,
        key_arn: str | None = None,
    ) -> "Channel":
        """Return what lies below `uri`, `s3://bucket/prefix`, in the job's region.

        - `input_mode`: default `FILE`, downloaded to the instance before the script starts, so it must fit there.
          `FAST_FILE` streams what the script reads, and starts at once.
        - `sharded`: default, each instance gets all of it.
        - `key_arn`: of the bucket's own KMS key. Default: it has none.
        """
        return cls(
            name=name,
            uri=uri,
            input_mode=input_mode,
            sharded=sharded,
            manifest=manifest,
            compressed=compressed,
            content_type=content_type,
            key_arn=key_arn,
        )

    @classmethod
    def lustre(cls, name: str, file_system_id: str, *, directory: str, read_only: bool = True) -> "Channel":
        """Return the folder `directory`, with the mount name in front (`/fsx/data`), of an FSx for Lustre file system.

        The job then needs a network that reaches it. `read_only`: default, the script cannot write there.
        """
        return cls(name=name, file_system_id=file_system_id, directory=directory, read_only=read_only)

    @classmethod
    def from_lustre(
        cls, name: str, file_system: MountableLustre, *, directory: str = "", read_only: bool = True
    ) -> "Channel":
        """Return the folder `directory`, from its root, of a file system of this app or an imported one.

        Default: all of it. The mount name is known by itself.
        """
        below = directory.strip("/")
        return cls.lustre(
            name,
            file_system.file_system_id,
            directory=f"/{file_system.mount_name}" + (f"/{below}" if below else ""),
            read_only=read_only,
        )
