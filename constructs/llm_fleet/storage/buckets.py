"""Buckets, for training data, checkpoints and models, and for logs of who used them; and the KMS key of a fleet."""

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.logs import log_access
from llm_fleet.references import hold, key_of
from llm_fleet.rules.buckets import check_bucket, check_bucket_name
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.problem import raise_problems
from llm_fleet.spec.storage import BucketSpec

_NO_REPLICA_OF_DATA = (
    "Versions protect against mistakes, and S3 keeps every object in three AZs. A copy of training data in a second "
    "region doubles its price; who needs one adds it to the L1 beneath, whose versioning is ready for it."
)
_NO_ACCESS_LOGS = (
    "Access logs are not enabled: training reads every object many times, and a log line each is worth its price to "
    "some only. Set access_log_bucket to enable them; CloudTrail data events are the alternative."
)
_ITSELF = "This is the bucket that access logs go to; logging it to itself would never end."
_NO_KMS = "S3 delivers access logs to buckets with S3-managed encryption only; with a KMS key they are silently lost."
_NO_REPLICA_OF_LOGS = (
    "Access logs record requests to other buckets; losing a region's logs with the region is accepted."
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


_LOG_GROUPS = "*"


class FleetKey(kms.Key):
    """A symmetric key that rotates every year, for the file systems, buckets and log groups of a fleet.

    It is retained: what it has encrypted is lost for ever without it. Deleting it by hand leaves
    30 days to think again. CloudWatch Logs may use it for the log groups of its own account and region, and for nothing
    else. Everybody else is allowed by IAM policies, or by the constructs that take the key.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        alias: str | None = None,
        description: str = "Encrypts the storage and logs of an LLM fleet",
        pending_window: cdk.Duration | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make a key. `alias`: default none. `pending_window`: 7 to 30 days before a deletion is final; default 30."""
        super().__init__(
            scope,
            id,
            alias=alias,
            description=description,
            enable_key_rotation=True,
            pending_window=pending_window or cdk.Duration.days(30),
            removal_policy=removal_policy,
        )
        hold(self)
        stack = cdk.Stack.of(self)
        log_groups = stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=_LOG_GROUPS,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        self.add_to_resource_policy(
            iam.PolicyStatement(
                # CloudWatch Logs has no other way to a key: its log groups encrypt as the service, not as a caller.
                sid="CloudWatchLogsOfThisAccountAndRegion",
                principals=[iam.ServicePrincipal(f"logs.{stack.region}.{stack.url_suffix}")],  # pyright: ignore[reportArgumentType]
                actions=["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"],
                resources=["*"],
                conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": log_groups}},
            )
        )

    if TYPE_CHECKING:
        # The CDK names this parameter otherwise in Key than in IKey, so that no type checker takes a Key for an IKey.
        # For them only: a method of ours at run time would have jsii call back into Python.
        def add_alias(self, alias: str) -> kms.Alias: ...  # pyright: ignore[reportIncompatibleMethodOverride]  # noqa: D102
