"""Has a bucket log to another one, in an app with whatever feature flags."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3


def log_access(bucket: s3.Bucket, *, to: s3.IBucket, prefix: str) -> None:
    """Have `bucket` write its server access logs below `prefix`, which ends with a slash, of the bucket `to`.

    The L2's own property grants by an ACL where `@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy` is off, as in an app
    without a cdk.json of `cdk init`, and a bucket whose owner owns all objects takes no ACL.
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
