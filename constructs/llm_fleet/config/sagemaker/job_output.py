"""Where a training job's results go."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import KeyArn


class JobOutputConfig(FleetModel):
    """What the script leaves in `SM_MODEL_DIR`."""

    other_words: ClassVar[Mapping[str, str]] = {"uri": "write `s3`", "path": "write `s3`"}

    uri: str | None = Field(default=None, alias="s3")
    """`s3://bucket/prefix`. Default: in the job's bucket."""
    key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key of that bucket. Default: it has none of its own."""
    compress: bool = True
    """Whether it is packed into `model.tar.gz`, which takes long with large models. Default: yes."""
