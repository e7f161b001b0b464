"""When a job saves itself."""

from collections.abc import Mapping
from typing import ClassVar

from llm_fleet.spec.model import FleetModel


class CheckpointConfig(FleetModel):
    """When a job saves itself, and where else (`CheckpointLike`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("interval", "steps", "every_steps"), "write `every`, in steps"),
        **dict.fromkeys(("kept", "count"), "write `keep`"),
        **dict.fromkeys(("s3", "bucket", "to", "upload"), "write `mirror: s3://<bucket>/<folder>`"),
        "folder": "leave it out: checkpoints lie in the job's `folder`",
    }

    every: int = 100
    """Steps from one to the next: what a lost node costs at most. Default: 100."""
    keep: int = 2
    """How many complete ones are kept. Default: 2."""
    mirror: str | None = None
    """Where in S3 they are copied to, in a bucket of the cluster's `writes`. Default: nowhere."""
