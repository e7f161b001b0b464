"""Where a training job keeps its checkpoints."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.catalog.training_jobs import training_job_fact
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import KeyArn


class JobCheckpointsConfig(FleetModel):
    """A folder of the container that is copied to S3 while the script runs, and back before it starts again."""

    other_words: ClassVar[Mapping[str, str]] = {
        "uri": "write `s3`",
        "s3_uri": "write `s3`",
        "path": "write `local_path`",
        "local": "write `local_path`",
    }

    uri: str | None = Field(default=None, alias="s3")
    """`s3://bucket/prefix`; each run has a folder of its own below it. Default: in the job's bucket."""
    local_path: str = training_job_fact("checkpoint_path")
    """Where the script writes them. Default: `/opt/ml/checkpoints`."""
    key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key of that bucket. Default: it has none of its own."""
