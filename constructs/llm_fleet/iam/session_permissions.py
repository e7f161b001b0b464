"""What sessions of Session Manager need, each statement with its reason."""

from llm_fleet.iam.access import BucketAccess
from llm_fleet.iam.permission import Permission


def use_sessions(key_arn: str) -> tuple[Permission, ...]:
    """Return what people need whose sessions are encrypted with the key."""
    return (
        Permission(
            sid="SessionKey",
            actions=("kms:GenerateDataKey",),
            resources=(key_arn,),
            reason="whoever starts a session makes the key of its encryption",
        ),
    )


def keep_sessions(
    *, key_arn: str | None, log_group_arn: str | None, bucket: BucketAccess | None
) -> tuple[Permission, ...]:
    """Return what nodes need for sessions that are encrypted with a key, or leave a log; nothing without all three."""
    return (*_decrypt(key_arn), *_into_log_group(log_group_arn), *_into_bucket(bucket))


def _decrypt(key_arn: str | None) -> tuple[Permission, ...]:
    if key_arn is None:
        return ()
    reason = "the node's end of a session reads what the person's end has encrypted"
    return (Permission(sid="SessionKey", actions=("kms:Decrypt",), resources=(key_arn,), reason=reason),)


def _into_log_group(arn: str | None) -> tuple[Permission, ...]:
    if arn is None:
        return ()
    return (
        Permission(
            sid="SessionLog",
            actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
            resources=(arn,),
            reason="the node writes what is typed and seen into a stream for each session",
        ),
        Permission(
            sid="SessionLogLook",
            actions=("logs:DescribeLogGroups",),
            resources=("*",),
            reason="the agent looks whether the group is there and encrypted; the action knows no resource",
        ),
    )


def _into_bucket(bucket: BucketAccess | None) -> tuple[Permission, ...]:
    if bucket is None:
        return ()
    look = Permission(
        sid="SessionBucketLook",
        actions=("s3:GetEncryptionConfiguration",),
        resources=(bucket.bucket_arn,),
        reason="the agent writes into a bucket that encrypts, and asks it first",
    )
    write = Permission(
        sid="SessionBucket",
        actions=("s3:PutObject",),
        resources=(bucket.objects_arn,),
        reason="the node puts the log of each session there when it ends, under an id that does not exist before",
    )
    if bucket.key_arn is None:
        return (look, write)
    # A long log goes in parts, which S3 reads again with the key to put them together.
    key = Permission(
        sid="SessionBucketKey",
        actions=("kms:Decrypt", "kms:GenerateDataKey"),
        resources=(bucket.key_arn,),
        reason="the bucket is encrypted with a key of its own",
    )
    return (look, write, key)
