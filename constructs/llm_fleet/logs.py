"""Log groups, and the server access logs of buckets."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk.interfaces.aws_kms import IKeyRef
from constructs import Construct

from llm_fleet.acknowledge import acknowledge

SERVERS_LOG = (
    "; servers log sizes and times of requests, and prompts only if that is enabled; `encryption_key` takes another"
)
"""Content of the log of a model server."""


def log_group(
    scope: Construct,
    id: str,
    *,
    name: str | None = None,
    retention_days: int,
    encryption_key: IKeyRef | None = None,
    holds: str,
    removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
) -> logs.CfnLogGroup:
    """Return a log group. Default: it is deleted with its stack.

    `encryption_key`: its policy must let CloudWatch Logs use it. Default: CloudWatch Logs' own encryption; the cdk-nag
    finding is acknowledged with the content that the log `holds`, e.g. ", and steps are logged without their data".
    """
    group = logs.CfnLogGroup(
        scope,
        id,
        log_group_name=name,
        retention_in_days=retention_days,
        kms_key_id=encryption_key,
    )
    group.apply_removal_policy(removal_policy)
    if encryption_key is None:
        acknowledge(
            group,
            f"CloudWatch Logs encrypts every log group with a key of its own{holds}",
            "NIST.800.53.R5-CloudWatchLogGroupEncrypted",
        )
    return group


def log_group_arn(scope: Construct, name: str) -> str:
    """Return the ARN of the log group `name` of the stack of `scope`, without `:*` at its end."""
    return cdk.Stack.of(scope).format_arn(
        service="logs", resource="log-group", resource_name=name, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )


def log_access(bucket: s3.Bucket, *, to: s3.IBucket, prefix: str) -> None:
    """Let `bucket` write its server access logs below `prefix`, which ends with a slash, in the bucket `to`.

    The L2's own property grants by an ACL where `@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy` is off, as in an app
    without a cdk.json of `cdk init`, and a bucket whose owner owns all objects accepts no ACL.
    """
    resource = bucket.node.default_child
    assert isinstance(resource, s3.CfnBucket)
    resource.logging_configuration = s3.CfnBucket.LoggingConfigurationProperty(
        destination_bucket_name=to.bucket_name, log_file_prefix=prefix
    )
    to.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[iam.ServicePrincipal("logging.s3.amazonaws.com")],  # pyright: ignore[reportArgumentType]
            actions=["s3:PutObject"],
            resources=[to.arn_for_objects(f"{prefix}*")],
            conditions={
                "ArnLike": {"aws:SourceArn": bucket.bucket_arn},
                "StringEquals": {"aws:SourceAccount": cdk.Stack.of(bucket).account},
            },
        )
    )
