"""Statements for buckets: S3 asks for the bucket when listing, for its objects else, and for the key of both."""

from llm_fleet.iam.access import BucketAccess
from llm_fleet.iam.permission import Permission


def read_bucket(sid: str, access: BucketAccess, *, reason: str) -> tuple[Permission, ...]:
    """List and read."""
    return (
        _list(sid, access, reason),
        Permission(
            sid=f"{sid}Objects",
            actions=("s3:GetObject",),
            resources=(access.objects_arn,),
            reason=reason,
        ),
        *_key(sid, access, ("kms:Decrypt",)),
    )


def change_bucket(sid: str, access: BucketAccess, *, reason: str) -> tuple[Permission, ...]:
    """List, read, write and delete, uploads in parts included."""
    return (
        _list(sid, access, reason),
        Permission(
            sid=f"{sid}Objects",
            actions=(
                "s3:AbortMultipartUpload",
                "s3:DeleteObject",
                "s3:GetObject",
                "s3:ListMultipartUploadParts",
                "s3:PutObject",
            ),
            resources=(access.objects_arn,),
            reason=reason,
        ),
        *_key(sid, access, ("kms:Decrypt", "kms:GenerateDataKey")),
    )


def write_only(sid: str, access: BucketAccess, *, reason: str) -> tuple[Permission, ...]:
    """Write, and never read what others wrote."""
    return (
        Permission(sid=f"{sid}Objects", actions=("s3:PutObject",), resources=(access.objects_arn,), reason=reason),
        *_key(sid, access, ("kms:GenerateDataKey",)),
    )


def _list(sid: str, access: BucketAccess, reason: str) -> Permission:
    # "IfExists": who asks whether the bucket is there (HeadBucket) names no prefix. AWS's managed policy for HyperPod
    # has no such condition. assumption: platform-agents-call-as-their-own-principals
    prefixes = {"s3:prefix": [access.prefix, f"{access.prefix}/*"]}
    conditions = {"StringLikeIfExists": prefixes} if access.prefix else {}
    return Permission(
        sid=f"{sid}List",
        actions=("s3:ListBucket",),
        resources=(access.bucket_arn,),
        conditions=conditions,
        reason=f"{reason}; copying a prefix begins with listing it",
    )


def _key(sid: str, access: BucketAccess, actions: tuple[str, ...]) -> tuple[Permission, ...]:
    if access.key_arn is None:
        return ()
    return (
        Permission(
            sid=f"{sid}Key",
            actions=actions,
            resources=(access.key_arn,),
            reason="the bucket is encrypted with a key of its own",
        ),
    )
