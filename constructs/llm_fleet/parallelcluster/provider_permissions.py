"""What the provider lacks for one cluster: one small function a need, each statement with its reason.

The provider's own rights are in cloudformation/policies/parallelcluster-policies.yaml and in
custom_resource/cluster.yaml of aws/aws-parallelcluster; which calls its validators make is in pcluster/validators of
the package aws-parallelcluster. Nothing that is there is repeated here.
"""

from collections.abc import Mapping
from typing import Any

from llm_fleet.iam.statements import BucketAccess, Permission, Place
from llm_fleet.parallelcluster.configuration_uses import (
    directory_password,
    has_existing_fsx,
    linked_buckets,
    s3_objects,
    storage_keys,
)

_FSX_READS = (
    "fsx:DescribeFileCaches",
    "fsx:DescribeFileSystems",
    "fsx:DescribeStorageVirtualMachines",
    "fsx:DescribeVolumes",
)


def provider_permissions(
    configuration: Mapping[str, Any], place: Place, *, bundle: BucketAccess | None, boundary: bool = False
) -> tuple[Permission, ...]:
    """Return what the provider must be allowed for the cluster of `configuration`, in a stable order.

    `bundle`: where the scripts of llm-fleet lie; `None` when no node runs any. `boundary`: whether the roles of the
    cluster have a permissions boundary.
    """
    return (
        *_bundle(bundle),
        *_scripts(configuration, place),
        *_existing_fsx(configuration),
        *_linked_buckets(configuration, place),
        *keys_of_storage(configuration, place, why="the provider makes encrypted file systems and volumes"),
        *_directory(configuration),
        *(_boundary(place) if boundary else ()),
    )


def own_scripts(section: Mapping[str, Any], place: Place, *, why: str) -> tuple[Permission, ...]:
    """Read the scripts and files in S3 that the user has named in `section`."""
    uris = s3_objects(section)
    if not uris:
        return ()
    arns = tuple(f"arn:{place.partition}:s3:::{uri.removeprefix('s3://')}" for uri in uris)
    return (Permission(sid="OwnScripts", actions=("s3:GetObject",), resources=arns, reason=why),)


def keys_of_storage(configuration: Mapping[str, Any], place: Place, *, why: str) -> tuple[Permission, ...]:
    """Use the keys of the shared storage that ParallelCluster makes."""
    named = storage_keys(configuration)
    aliases = [name for name in named if "alias/" in name]
    arns = tuple(name if ":" in name else place.arn("kms", f"key/{name}") for name in named if name not in aliases)
    permissions: list[Permission] = []
    if arns:
        permissions += _key_uses("StorageKeys", arns, {}, why)
    if aliases:
        # A key that is only known by its alias: the alias limits which of the account's keys is meant.
        names = [f"alias/{name.split('alias/')[1]}" for name in aliases]
        limit = {"ForAnyValue:StringEquals": {"kms:ResourceAliases": names}}
        permissions += _key_uses("StorageKeyAliases", (place.arn("kms", "key/*"),), limit, why)
    return tuple(permissions)


def _key_uses(
    sid: str, resources: tuple[str, ...], conditions: Mapping[str, Mapping[str, Any]], why: str
) -> list[Permission]:
    grants = {**conditions, "Bool": {"kms:GrantIsForAWSResource": "true"}}
    return [
        Permission(
            sid=sid,
            actions=("kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext"),
            resources=resources,
            conditions=conditions,
            reason=why,
        ),
        Permission(
            sid=f"{sid}Grants",
            actions=("kms:CreateGrant",),
            resources=resources,
            conditions=grants,
            reason=f"{why}, and hands the use of their keys to the service that stores them",
        ),
    ]


def _bundle(bundle: BucketAccess | None) -> tuple[Permission, ...]:
    if bundle is None:
        return ()
    head = Permission(
        sid="Scripts",
        actions=("s3:GetObject",),
        resources=(bundle.objects_arn,),
        reason="its validators ask S3 for every script (UrlValidator), which S3 allows to whom may read it; the rest "
        "of the key is the bundle's hash, worked out when it is published",
    )
    if bundle.key_arn is None:
        return (head,)
    decrypt = Permission(
        sid="ScriptsKey",
        actions=("kms:Decrypt",),
        resources=(bundle.key_arn,),
        reason="the scripts' bucket is encrypted with a key of its own",
    )
    return (head, decrypt)


def _scripts(configuration: Mapping[str, Any], place: Place) -> tuple[Permission, ...]:
    return own_scripts(configuration, place, why="its validators ask S3 for the scripts that the user has named")


def _existing_fsx(configuration: Mapping[str, Any]) -> tuple[Permission, ...]:
    if not has_existing_fsx(configuration):
        return ()
    # assumption: parallelcluster-provider-reads-fsx-on-any-resource
    return (
        Permission(
            sid="ExistingFsx",
            actions=_FSX_READS,
            resources=("*",),
            reason="its validators look existing file systems up; these actions know no resource in the service "
            "authorization reference, and the provider's own statement names ARNs",
        ),
    )


def _linked_buckets(configuration: Mapping[str, Any], place: Place) -> tuple[Permission, ...]:
    """Link a file system to S3, as FSxS3AccessPolicy of parallelcluster-policies.yaml does; the provider lacks it."""
    arns = [f"arn:{place.partition}:s3:::{bucket}" for bucket in linked_buckets(configuration)]
    if not arns:
        return ()
    role = "role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/*"
    return (
        Permission(
            sid="LinkedBuckets",
            actions=("s3:Get*", "s3:List*", "s3:PutObject"),
            resources=tuple(arn for bucket in arns for arn in (bucket, f"{bucket}/*")),
            reason="FSx links a file system to a bucket with the rights of who makes it; which reads that takes, AWS "
            "tells by these wildcards only",
        ),
        Permission(
            sid="LinkedBucketsRole",
            actions=("iam:AttachRolePolicy", "iam:CreateServiceLinkedRole", "iam:PutRolePolicy"),
            resources=(f"arn:{place.partition}:iam::{place.account}:{role}",),
            reason="FSx reaches each bucket by a service-linked role, whose name ends with the file system's id",
        ),
    )


def _directory(configuration: Mapping[str, Any]) -> tuple[Permission, ...]:
    arn = directory_password(configuration)
    if arn is None:
        return ()
    is_parameter = ":ssm:" in arn
    return (
        Permission(
            sid="DirectoryPassword",
            actions=("ssm:GetParameter" if is_parameter else "secretsmanager:DescribeSecret",),
            resources=(arn,),
            reason="its validators look up where the directory's password is kept",
        ),
    )


def _boundary(place: Place) -> tuple[Permission, ...]:
    return (
        Permission(
            sid="Boundary",
            actions=("iam:PutRolePermissionsBoundary",),
            resources=(f"arn:{place.partition}:iam::{place.account}:role/parallelcluster/*",),
            reason="an update that changes the permissions boundary sets it on the roles of the cluster, whose names "
            "are made up when they are",
        ),
    )
