"""Access logs can be sent to a bucket whose policy does not allow them yet.

The policy of a log bucket names the buckets that log to it, so with the CDK's templates CloudFormation creates or
changes the policy after these buckets. S3 accepts that if ACLs are disabled (Object Ownership `BucketOwnerEnforced`);
moto requires the policy first.
Source: assumption log-bucket-policy-after-target
"""

from collections.abc import Callable
from typing import Any

from moto.s3.models import FakeBucket

_CHECK = "_log_permissions_enabled_policy"
_INSTALLED = "_llm_fleet_log_target"


def install() -> None:
    """Accept a bucket without ACLs as the target of access logs before its policy allows it."""
    if hasattr(FakeBucket, _INSTALLED):
        return
    as_moto_does: Callable[..., bool] = getattr(FakeBucket, _CHECK)

    def enabled(target_bucket: Any, target_prefix: str | None) -> bool:
        if _has_no_acls(target_bucket):
            return True
        return as_moto_does(target_bucket=target_bucket, target_prefix=target_prefix)

    setattr(FakeBucket, _CHECK, staticmethod(enabled))
    setattr(FakeBucket, _INSTALLED, True)


def _has_no_acls(bucket: Any) -> bool:
    """Read the rule, which moto stores as the request's XML, parsed or not, depending on the request."""
    return "BucketOwnerEnforced" in str(bucket.ownership_rule)
