"""A Lustre file system in CloudFormation's words, its log, and its links to S3."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.catalog.fsx import lustre_limits
from llm_fleet.references import log_group_of
from llm_fleet.rules.file_systems import MADE_UP, check_log_group_name
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.lustre import DataRepository, LustreBackups, LustreSpec
from llm_fleet.spec.references import LogGroup
from llm_fleet.spec.spec import in_request

_SERVICE_ROLE = "aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_fs-*"
"""The role that FSx makes for each linked file system; its last part, the file system's id, is known only then."""


def lustre_configuration(
    spec: LustreSpec, *, efa: bool, log: fsx.CfnFileSystem.LogConfigurationProperty | None
) -> fsx.CfnFileSystem.LustreConfigurationProperty:
    """Return the Lustre half of an `AWS::FSx::FileSystem`, with every default decided.

    What a deployment type does not know is left out: the service refuses even its `NONE`. `CopyTagsToBackups` is there
    only where it was asked for: a file system that is linked to S3 must not have it, and CloudFormation replaces the
    file system when it changes, so that one that had it by default could not be linked later without losing its data.
    """
    variant, asked = spec.variant, spec.backups or LustreBackups()
    days = spec.effective_backup_retention_days
    backups = variant is not None and variant.backups
    return fsx.CfnFileSystem.LustreConfigurationProperty(
        **in_request(spec),
        per_unit_storage_throughput=spec.effective_throughput,
        throughput_capacity=spec.effective_throughput_capacity,
        drive_cache_type=(spec.drive_cache or "READ") if variant and variant.drive_cache else None,
        data_read_cache_configuration=_read_cache(spec),
        metadata_configuration=_metadata(spec),
        efa_enabled=efa if variant and variant.efa else None,
        automatic_backup_retention_days=days if backups else None,
        daily_automatic_backup_start_time=asked.start_time if days else None,
        copy_tags_to_backups=(asked.copy_tags or None) if backups else None,
        log_configuration=log,
    )


def _metadata(spec: LustreSpec) -> fsx.CfnFileSystem.MetadataConfigurationProperty | None:
    """Always set where it exists: EFA needs it, and it cannot be added to a file system that was made without."""
    variant = spec.variant
    if variant is None or variant.metadata_iops is None or spec.version != lustre_limits().metadata_version:
        return None
    iops = spec.metadata_iops
    if iops is None and variant.metadata_automatic:
        return fsx.CfnFileSystem.MetadataConfigurationProperty(mode="AUTOMATIC")
    return fsx.CfnFileSystem.MetadataConfigurationProperty(
        mode="USER_PROVISIONED", iops=variant.metadata_iops.smallest if iops is None else iops
    )


def _read_cache(spec: LustreSpec) -> fsx.CfnFileSystem.DataReadCacheConfigurationProperty | None:
    """The API requires one on Intelligent-Tiering, and knows none elsewhere."""
    variant = spec.variant
    if variant is None or variant.throughput_capacity is None:
        return None
    sized = spec.read_cache_gib is not None
    chosen = "USER_PROVISIONED" if sized else "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"
    return fsx.CfnFileSystem.DataReadCacheConfigurationProperty(
        sizing_mode=spec.read_cache or chosen, size_gib=spec.read_cache_gib
    )


def check_log_group(log_group: LogGroup | None) -> Sequence[Problem]:
    """Return what FSx would refuse of the name of a log group of the CDK; `check_lustre` judges plain names."""
    return (
        []
        if log_group is None or isinstance(log_group, str)
        else check_log_group_name(_name_of(cast(logs.ILogGroup, log_group)))
    )


def log_configuration(scope: Construct, spec: LustreSpec) -> fsx.CfnFileSystem.LogConfigurationProperty | None:
    """Return the log configuration: of warnings and errors unless told otherwise, where links to S3 exist at all.

    Without a log group the service makes `/aws/fsx/lustre` and keeps what it writes there for ever.
    """
    level, log_group = spec.log_level, log_group_of(scope, "Logs", spec.log_group)
    linkable = spec.variant is not None and spec.variant.data_repositories
    if level is None and log_group is None and not linkable:
        return None
    destination = None
    if log_group is not None:
        # Not `log_group_arn`: that ends in `:*`, which is how IAM, not FSx, names a log group.
        destination = cdk.Stack.of(scope).format_arn(
            service="logs",
            resource="log-group",
            resource_name=log_group.log_group_name,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
    return fsx.CfnFileSystem.LogConfigurationProperty(level=level or "WARN_ERROR", destination=destination)


def _name_of(log_group: logs.ILogGroup) -> str | None:
    """The name as its maker wrote it, which `log_group_name` of a construct hides behind a token.

    `None` when it is known only at deploy time.
    """
    resource = log_group.node.default_child
    if not isinstance(resource, logs.CfnLogGroup):
        return log_group.log_group_name
    name = cdk.Stack.of(resource).resolve(resource.log_group_name)
    if name is None:
        return MADE_UP
    return name if isinstance(name, str) else None


class DataRepositoryLink(Construct):
    """An `AWS::FSx::DataRepositoryAssociation`, with the use of the bucket's KMS key that FSx needs for it.

    It is retained with its file system: FSx loads the content of a file when it is first read, and a file system
    that has lost its link has lost what nobody has read yet.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        repository: DataRepository,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Link `repository` to the file system."""
        super().__init__(scope, id)
        self.resource = fsx.CfnDataRepositoryAssociation(
            self,
            "Resource",
            file_system_id=file_system_id,
            file_system_path=repository.file_system_path,
            data_repository_path=repository.data_repository_path,
            batch_import_meta_data_on_create=repository.import_existing,
            s3=_policies(repository),
        )
        """The L1 beneath."""
        self.resource.apply_removal_policy(removal_policy)
        if not isinstance(repository.s3, str):
            self._allow_key(cast(s3.IBucket, repository.s3))

    def _allow_key(self, bucket: s3.IBucket) -> None:
        """Let FSx's own role use the bucket's key, through S3 and for this bucket only.

        Source: FSx for Lustre User Guide, working with server-side encrypted S3 buckets. The role is named by a
        condition: as a principal it would have to exist before the key's policy, and take no wildcard.
        """
        if bucket.encryption_key is None:
            return
        stack = cdk.Stack.of(self)
        bucket.encryption_key.add_to_resource_policy(
            iam.PolicyStatement(
                sid=f"LustreLink{self.node.addr[-8:]}",
                principals=[iam.AnyPrincipal()],  # pyright: ignore[reportArgumentType]
                actions=["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"],
                resources=["*"],
                conditions={
                    "StringEquals": {
                        "kms:CallerAccount": stack.account,
                        "kms:ViaService": f"s3.{stack.region}.{stack.url_suffix}",
                    },
                    "ArnLike": {
                        "aws:PrincipalArn": stack.format_arn(
                            service="iam", region="", resource="role", resource_name=_SERVICE_ROLE
                        )
                    },
                },
            )
        )


def _policies(repository: DataRepository) -> fsx.CfnDataRepositoryAssociation.S3Property:
    """What follows by itself; a side without events is left out."""
    properties = fsx.CfnDataRepositoryAssociation
    imports, exports = list(repository.auto_import), list(repository.auto_export)
    return properties.S3Property(
        auto_import_policy=properties.AutoImportPolicyProperty(events=imports) if imports else None,
        auto_export_policy=properties.AutoExportPolicyProperty(events=exports) if exports else None,
    )
