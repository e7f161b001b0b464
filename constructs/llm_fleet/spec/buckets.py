"""A bucket for training data, checkpoints or models."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from llm_fleet.spec.references import Key
from llm_fleet.spec.spec import PYTHON_ONLY, Spec


class BucketSpec(Spec):
    """A bucket for data or models, which is kept when its stack goes. A name that S3 refuses has LF340."""

    other_words: ClassVar[Mapping[str, str]] = {
        "bucket_name": "write `name`",
        **dict.fromkeys(("kms_key_arn", "kms_key_id", "encryption_key"), "write `key`"),
    }

    bucket_name: Annotated[str | None, Field(alias="name")] = None
    """Its name in S3. Default: CloudFormation makes one, which cannot clash."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """The KMS key that encrypts it, by its ARN. Default: a key of the fleet's own; in Python, of the bucket's own."""
    event_bridge_enabled: Annotated[bool, Field(alias=f"{PYTHON_ONLY} event_bridge_enabled")] = False
    """Whether every event goes to EventBridge, which costs by the event. `add_event_notification` would switch it off
    again. Default: no."""
    noncurrent_version_days: Annotated[int, Field(alias=f"{PYTHON_ONLY} noncurrent_version_days")] = 30
    """How long an overwritten or deleted object can be had back; at least 1 (LF341). Default: 30 days."""
    incomplete_upload_days: Annotated[int, Field(alias=f"{PYTHON_ONLY} incomplete_upload_days")] = 7
    """When the parts of an upload that was broken off are thrown away; at least 1 (LF341). Default: after 7 days."""
