"""Where buckets write who did what."""

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.rules.buckets import check_bucket_name
from llm_fleet.rules.problem import raise_problems

_ITSELF = "This is the bucket that access logs go to; logging it to itself would never end."
_NO_KMS = "S3 delivers access logs to buckets with S3-managed encryption only; with a KMS key they are silently lost."
_NO_REPLICA = "Access logs tell what happened to other buckets; losing a region's logs with the region is accepted."


class AccessLogBucket(s3.Bucket):
    """A private bucket for S3 server access logs.

    Encrypted with a key of S3's own: the log delivery service writes to no other than that. It is retained, and forgets
    logs after `expire_after`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket_name: str | None = None,
        expire_after: cdk.Duration | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make a bucket. `bucket_name`: default made up by CloudFormation. `expire_after`: default a year.

        Raises `FleetError` (LF340) for a name that S3 refuses.
        """
        raise_problems(check_bucket_name(bucket_name), subject=f"{scope.node.path}/{id}")
        super().__init__(
            scope,
            id,
            bucket_name=bucket_name,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="ForgetLogs",
                    expiration=expire_after or cdk.Duration.days(365),
                    noncurrent_version_expiration=cdk.Duration.days(30),
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(7),
                )
            ],
            removal_policy=removal_policy,
        )
        acknowledge(self, _ITSELF, "AwsSolutions-S1", "NIST.800.53.R5-S3BucketLoggingEnabled")
        acknowledge(self, _NO_KMS, "NIST.800.53.R5-S3DefaultEncryptionKMS")
        acknowledge(self, _NO_REPLICA, "NIST.800.53.R5-S3BucketReplicationEnabled")
