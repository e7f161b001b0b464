"""A bucket for data or models."""

from pydantic import Field

from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import KeyArn


class BucketConfig(NamedModel):
    """A bucket for data or models, made for the fleet and kept when the fleet goes. Its key is its name here."""

    bucket_name: str | None = Field(default=None, alias="name")
    """Its name in S3. Default: CloudFormation makes one, which cannot clash."""
    kms_key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key that encrypts it. Default: a key of the fleet's own."""
