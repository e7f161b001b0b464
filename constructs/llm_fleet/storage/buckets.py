"""Buckets: for training data, checkpoints and models, and for logs of who used them."""

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.access_logging import log_access
from llm_fleet.acknowledge import acknowledge
from llm_fleet.held import hold
from llm_fleet.references import key_of
from llm_fleet.rules.buckets import check_bucket, check_bucket_name
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.problem import raise_problems
from llm_fleet.spec.buckets import BucketSpec

_NO_REPLICA_OF_DATA = (
    "Versions protect against mistakes, and S3 keeps every object in three AZs. A copy of training data in a second "
    "region doubles its price; who needs one adds it to the L1 beneath, whose versioning is ready for it."
)
_NO_ACCESS_LOGS = (
    "Access logs were not asked for: training reads every object many times, and a log line each is worth its price to "
    "some only. Give access_log_bucket where they are wanted; CloudTrail data events are the other way."
)
_ITSELF = "This is the bucket that access logs go to; logging it to itself would never end."
_NO_KMS = "S3 delivers access logs to buckets with S3-managed encryption only; with a KMS key they are silently lost."
_NO_REPLICA_OF_LOGS = (
    "Access logs tell what happened to other buckets; losing a region's logs with the region is accepted."
)


class DataBucket(s3.Bucket):
    """A private, versioned bucket, encrypted with a KMS key, that is spoken to over TLS only.

    It is retained: deleting the stack leaves the bucket and all that is in it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        spec: BucketSpec | None = None,
        *,
        access_log_bucket: s3.IBucket | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make a bucket.

        `spec`: what it is. Default: `BucketSpec()`. `access_log_bucket`: default, no access logs.
        `removal_policy`: default, it is retained.

        Raises `FleetError` (LF340, LF341) for what S3 refuses.
        """
        path = f"{scope.node.path}/{id}"
        spec = BucketSpec() if spec is None else spec
        raise_problems(check_is_spec(spec, BucketSpec, "spec"), subject=path)
        raise_problems(check_bucket(spec), subject=path)
        super().__init__(
            scope,
            id,
            bucket_name=spec.bucket_name,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=key_of(scope, f"KeyOf{id}", spec.encryption_key),
            # One data key for the bucket in place of one an object: training reads millions.
            bucket_key_enabled=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="TidyUp",
                    noncurrent_version_expiration=cdk.Duration.days(spec.noncurrent_version_days),
                    expired_object_delete_marker=True,
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(spec.incomplete_upload_days),
                )
            ],
            removal_policy=removal_policy,
        )
        hold(self)
        if spec.event_bridge_enabled:
            self._send_events()
        acknowledge(self, _NO_REPLICA_OF_DATA, "NIST.800.53.R5-S3BucketReplicationEnabled")
        if access_log_bucket is not None:
            log_access(self, to=access_log_bucket, prefix=f"{id}/")
        else:
            acknowledge(self, _NO_ACCESS_LOGS, "AwsSolutions-S1", "NIST.800.53.R5-S3BucketLoggingEnabled")

    def _send_events(self) -> None:
        """Switch EventBridge on by a property of the bucket: the L2's own switch deploys a Lambda function for it."""
        bucket = self.node.default_child
        assert isinstance(bucket, s3.CfnBucket)
        bucket.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(event_bridge_enabled=True)
        )


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
        acknowledge(self, _NO_REPLICA_OF_LOGS, "NIST.800.53.R5-S3BucketReplicationEnabled")
