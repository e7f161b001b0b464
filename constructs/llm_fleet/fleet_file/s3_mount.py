"""A bucket that nodes see as a folder."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class S3MountConfig(FleetModel):
    """A bucket that Mountpoint for Amazon S3 shows as a folder: for reading in parallel and writing whole files."""

    bucket: str = Field(examples=["s3://my-corpus"])
    """A name under `storage.buckets`, or `s3://<bucket>` for one that exists."""
    prefix: str | None = None
    """Only keys below it, e.g. `tokenized`. Default: the whole bucket."""
    mount_path: str = Field(alias="mount", examples=["/s3/corpus"])
    """Where nodes mount it: an absolute path that no other mount is at, above or below."""
    read_only: bool = True
    """Whether nodes can only read. Default: yes; `false` lets jobs write new files, and replace and delete old ones."""
    groups: tuple[str, ...] | None = None
    """Names of the groups that mount it. Default: all."""
