"""A channel of a training job."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.rules.sagemaker.training_job_terms import InputMode
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import KeyArn


class JobChannelConfig(NamedModel):
    """Data that the script finds in `/opt/ml/input/data/<key>`: in S3, or on the fleet's FSx for Lustre."""

    other_words: ClassVar[Mapping[str, str]] = {
        "uri": "write `s3`",
        "s3_uri": "write `s3`",
        "s3_data": "write `s3`",
        "path": "write `s3`, or `fsx`",
        "lustre": "write `fsx`",
        "directory_path": "write `fsx`, without the mount name in front",
        "file_system_id": "leave it out: `fsx` is a folder of the file system under `storage.fsx`",
        "efs": "copy the data to S3 or FSx for Lustre: EFS is not offered",
        "input_mode": "write `mode`",
        "distribution": "write `sharded: true` for ShardedByS3Key",
        "fast-file": "write `FastFile`",
        "fastfile": "write `FastFile`",
        "file": "write `File`",
        "pipe": "write `Pipe`",
    }

    s3_uri: str | None = Field(default=None, alias="s3")
    """Its place in S3, e.g. `s3://my-data/train`."""
    bucket: str | None = None
    """A name under `storage.buckets`, in place of `s3`: the fleet's own bucket."""
    prefix: str | None = None
    """With `bucket`: its folder there. Default: the whole bucket."""
    fsx: str | None = None
    """Its folder on the fleet's FSx for Lustre, from the file system's root, e.g. `data/train`."""
    read_only: bool = True
    """With `fsx`: whether the script may not write there. Default: it may not."""
    input_mode: InputMode = Field(default=InputMode.FILE, alias="mode")
    """`File` downloads it before the script starts, `FastFile` streams what is read. Default: `File`."""
    sharded: bool = False
    """Whether each instance gets a part of the objects. Default: all get all."""
    manifest: bool = False
    """Whether `s3` is a manifest that lists the objects. Default: no, a prefix."""
    compressed: bool = False
    """Whether objects are unpacked by gzip on their way, in Pipe mode. Default: no."""
    content_type: str | None = None
    """Its MIME type, for images that ask. Default: none."""
    key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key of a bucket that is not the fleet's. Default: none."""
