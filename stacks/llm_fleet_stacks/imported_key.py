"""KMS keys that the fleet file names."""

from aws_cdk import aws_kms as kms
from constructs import Construct


def imported_key(scope: Construct, id: str, arn: str | None) -> kms.IKey | None:
    """Return the existing key of that ARN; `None` when none is named."""
    return kms.Key.from_key_arn(scope, id, arn) if arn else None
