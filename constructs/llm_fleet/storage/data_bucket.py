"""A bucket for training data, checkpoints or models."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.access_logging import log_access
from llm_fleet.acknowledge import acknowledge
from llm_fleet.held import hold
from llm_fleet.rules.buckets import check_bucket_lifecycle, check_bucket_name
from llm_fleet.rules.problem import raise_problems

_NO_REPLICA = (
    "Versions protect against mistakes, and S3 keeps every object in three AZs. A copy of training data in a second "
    "region doubles its price; who needs one adds it to the L1 beneath, whose versioning is ready for it."
)
_NO_ACCESS_LOGS = (
    "Access logs were not asked for: training reads every object many times, and a log line each is worth its price to "
    "some only. Give access_log_bucket where they are wanted; CloudTrail data events are the other way."
)


class DataBucket(s3.Bucket):
    """A private, versioned bucket, encrypted with a KMS key, that is spoken to over TLS only.

    It is retained: deleting the stack leaves the bucket and all that is in it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket_name: str | None = None,
        encryption_key: kms.IKey | None = None,
        access_log_bucket: s3.IBucket | None = None,
        event_bridge_enabled: bool = False,
        noncurrent_version_days: int = 30,
        incomplete_upload_days: int = 7,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make a bucket.

        `bucket_name`: default made up by CloudFormation, so that it clashes with none left behind by an earlier stack.
        `encryption_key`: default a key of the bucket's own, retained with it. `access_log_bucket`: default no access
        logs. `event_bridge_enabled`: whether every event goes to EventBridge, which costs by the event; not
        together with `add_event_notification`, which would switch it off again.
        `noncurrent_version_days`: how long an overwritten or deleted object can be had back.
        `incomplete_upload_days`: when the parts of an upload that was broken off are thrown away.

        Raises `FleetError` (LF340, LF341) for what S3 refuses.
        """
        problems = [
            *check_bucket_name(bucket_name),
            *check_bucket_lifecycle(
                noncurrent_version_days=noncurrent_version_days, incomplete_upload_days=incomplete_upload_days
            ),
        ]
        raise_problems(problems, subject=f"{scope.node.path}/{id}")
        super().__init__(
            scope,
            id,
            bucket_name=bucket_name,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=encryption_key,
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
                    noncurrent_version_expiration=cdk.Duration.days(noncurrent_version_days),
                    expired_object_delete_marker=True,
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(incomplete_upload_days),
                )
            ],
            removal_policy=removal_policy,
        )
        hold(self)
        if event_bridge_enabled:
            self._send_events()
        acknowledge(self, _NO_REPLICA, "NIST.800.53.R5-S3BucketReplicationEnabled")
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
