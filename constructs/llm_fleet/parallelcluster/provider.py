"""AWS's provider of `Custom::PclusterCluster`, and its IAM permissions.

Also permissions that the provider lacks for a cluster: one function for each, every statement with its reason.

The provider's own permissions are in cloudformation/policies/parallelcluster-policies.yaml and in
custom_resource/cluster.yaml of aws/aws-parallelcluster; which calls its validators make is in pcluster/validators of
the package aws-parallelcluster. They are not repeated here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import CfnStack
from constructs import Construct

from llm_fleet.iam.statements import BucketAccess, NamedPolicy, Permission, Place
from llm_fleet.rules.problem import is_unresolved


class ClusterProvider(Construct):
    """The provider of AWS ParallelCluster's custom resource, for one cluster.

    One provider for each cluster: the function caches its last answer between calls, and a warm one that serves two
    clusters may return the public address of the other one (`flatten` in custom_resource/cluster.yaml). It can also
    update only clusters of its own version.

    The template creates IAM roles and has a transform: a deployment must pass CAPABILITY_NAMED_IAM and
    CAPABILITY_AUTO_EXPAND. `cdk deploy` does.
    """

    def __init__(self, scope: Construct, id: str, *, version: str, policy: NamedPolicy | None) -> None:
        """Create the provider of ParallelCluster `version`, with `policy` in addition to its own policies.

        `policy`: `None` if those are enough.
        """
        super().__init__(scope, id)
        self.resource = CfnStack(
            self,
            "Resource",
            template_url=template_url(cdk.Stack.of(self), version),
            parameters={"AdditionalIamPolicies": policy.arn} if policy else None,
        )
        """The nested stack."""

    @property
    def service_token(self) -> str:
        """The ARN of the function."""
        return self.resource.get_att("Outputs.ServiceToken").to_string()

    @property
    def log_group_arn(self) -> str:
        """The ARN of the function's log group. It is kept for 90 days, and retained when the cluster is deleted."""
        return self.resource.get_att("Outputs.LogGroupArn").to_string()


def template_url(stack: cdk.Stack, version: str) -> str:
    """Return the URL of the provider of ParallelCluster `version` for the region of `stack`.

    Source: cloudformation/custom_resource/cluster-1-click.yaml of aws/aws-parallelcluster.
    """
    bucket = f"{stack.region}-aws-parallelcluster"
    host = f"{bucket}.s3.{stack.region}.{stack.url_suffix}"
    return f"https://{host}/parallelcluster/{version}/templates/custom_resource/cluster.yaml"


_SCRIPT_KEYS = ("Script", "CustomSlurmSettingsIncludeFile")
_REPOSITORY_KEYS = ("DataRepositoryPath", "ExportPath", "ImportPath")
_FSX_KINDS = ("FsxLustre", "FsxOpenZfs", "FsxOntap", "FileCache")


def s3_objects(section: Any) -> list[str]:
    """Return the `s3://` URIs of scripts and included files in `section`, each once, without tokens."""
    found = (
        value
        for key, value in _items(section)
        if key in _SCRIPT_KEYS and isinstance(value, str) and value.startswith("s3://") and not is_unresolved(value)
    )
    return list(dict.fromkeys(found))


def storage_keys(configuration: Mapping[str, Any]) -> list[str]:
    """Return the KMS keys of the shared storage that ParallelCluster makes, as they are written: id, ARN or alias."""
    storages = configuration.get("SharedStorage", ())
    return list(dict.fromkeys(str(value) for key, value in _items(storages) if key == "KmsKeyId"))


def linked_buckets(configuration: Mapping[str, Any]) -> list[str]:
    """Return the buckets that are linked to file systems created by ParallelCluster, each once, without tokens."""
    paths = [str(value) for key, value in _items(configuration.get("SharedStorage", ())) if key in _REPOSITORY_KEYS]
    known = [path for path in paths if path.startswith("s3://") and not is_unresolved(path)]
    return list(dict.fromkeys(path.removeprefix("s3://").split("/")[0] for path in known))


def has_existing_fsx(configuration: Mapping[str, Any]) -> bool:
    """Return whether the cluster mounts an FSx file system, or cache, that exists."""
    storages = configuration.get("SharedStorage", ())
    ids = ("FileSystemId", "VolumeId", "FileCacheId")
    return any(
        storage.get("StorageType") in _FSX_KINDS and any(key in ids for key, _ in _items(storage))
        for storage in storages
    )


def directory_password(configuration: Mapping[str, Any]) -> str | None:
    """Return the ARN of the secret or parameter with the password of the directory's reader."""
    arn = configuration.get("DirectoryService", {}).get("PasswordSecretArn")
    return None if arn is None else str(arn)


def _items(section: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key with its value, however deep."""
    if isinstance(section, Mapping):
        for key, value in cast("Mapping[str, Any]", section).items():
            yield key, value
            yield from _items(value)
    elif isinstance(section, Sequence) and not isinstance(section, str):
        for value in cast("Sequence[Any]", section):
            yield from _items(value)


_FSX_READS = (
    "fsx:DescribeFileCaches",
    "fsx:DescribeFileSystems",
    "fsx:DescribeStorageVirtualMachines",
    "fsx:DescribeVolumes",
)


def provider_permissions(
    configuration: Mapping[str, Any], place: Place, *, bundle: BucketAccess | None, boundary: bool = False
) -> tuple[Permission, ...]:
    """Return the permissions that the provider needs for the cluster of `configuration`, in a stable order.

    `bundle`: the location of llm-fleet's scripts; `None` when no node runs any. `boundary`: whether the roles of the
    cluster have a permissions boundary.
    """
    return (
        *_bundle(bundle),
        *_scripts(configuration, place),
        *_existing_fsx(configuration),
        *_linked_buckets(configuration, place),
        *keys_of_storage(configuration, place, why="the provider creates encrypted file systems and volumes"),
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
        # A key that is given by its alias: the condition on the alias limits the statement to that key.
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
            reason=f"{why}, and grants the use of their keys to the service that stores them",
        ),
    ]


def _bundle(bundle: BucketAccess | None) -> tuple[Permission, ...]:
    if bundle is None:
        return ()
    head = Permission(
        sid="Scripts",
        actions=("s3:GetObject",),
        resources=(bundle.objects_arn,),
        reason="its validators request every script from S3 (UrlValidator), which requires read access; the rest "
        "of the key is the bundle's hash, which is computed at publication",
    )
    if bundle.key_arn is None:
        return (head,)
    decrypt = Permission(
        sid="ScriptsKey",
        actions=("kms:Decrypt",),
        resources=(bundle.key_arn,),
        reason="the scripts' bucket is encrypted with its own KMS key",
    )
    return (head, decrypt)


def _scripts(configuration: Mapping[str, Any], place: Place) -> tuple[Permission, ...]:
    return own_scripts(
        configuration, place, why="its validators request the scripts in the user's configuration from S3"
    )


def _existing_fsx(configuration: Mapping[str, Any]) -> tuple[Permission, ...]:
    if not has_existing_fsx(configuration):
        return ()
    # assumption: parallelcluster-provider-reads-fsx-on-any-resource
    return (
        Permission(
            sid="ExistingFsx",
            actions=_FSX_READS,
            resources=("*",),
            reason="its validators look existing file systems up; these actions support no resource in the service "
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
            reason="FSx links a file system to a bucket with the permissions of its creator; AWS documents the "
            "required reads by these wildcards only",
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
            "are generated at their creation",
        ),
    )
