"""A bucket that nodes see as a folder."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_s3 as s3


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Mount:
    """A bucket that Mountpoint for Amazon S3 shows as a folder on nodes.

    It reads in parallel and writes new files front to back; it is no file system to work in: no renames, no appends.
    The cluster's own role is granted what the mount needs; with a role of your own, grant it yourself.
    """

    bucket: s3.IBucket | s3.Bucket
    """The bucket."""
    mount_path: str
    """Absolute path on the node, that no other mount is at, above or below."""
    prefix: str | None = None
    """Only keys below it, e.g. `tokenized`. Default: the whole bucket."""
    read_only: bool = True
    """Whether nodes can only read. `False` lets jobs write new files, and replace and delete old ones."""
    groups: Sequence[str] | None = None
    """Names of the instance groups that mount it. Default: all."""

    @property
    def key_prefix(self) -> str:
        """The prefix without a slash at its end; empty for the whole bucket."""
        return (self.prefix or "").rstrip("/")
