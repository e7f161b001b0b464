"""What hosts may do for the model in S3: read it, and nothing else."""

from collections.abc import Sequence

from llm_fleet.iam.resource_permissions import read_bucket
from llm_fleet.iam.statements import BucketAccess, Permission
from llm_fleet.inference.model import Model
from llm_fleet.rules.inference.model import bucket_and_prefix
from llm_fleet.rules.inference.terms import ModelSource

_REASON = "Mountpoint for Amazon S3 shows the model to the server, read-only; nothing else of the bucket is readable"


def model_permissions(model: Model, *, partition: str) -> Sequence[Permission]:
    """Return what the role of a service's hosts needs to mount `model`; nothing for one that is not in S3."""
    if model.source is not ModelSource.S3:
        return ()
    return read_bucket("Model", model_access(model, partition=partition), reason=_REASON)


def model_access(model: Model, *, partition: str) -> BucketAccess:
    """Return the part of a bucket that `model`, one in S3, is."""
    bucket, prefix = bucket_and_prefix(model.location)
    return BucketAccess(bucket_arn=f"arn:{partition}:s3:::{bucket}", prefix=prefix, key_arn=model.key_arn)
