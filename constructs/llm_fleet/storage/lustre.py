"""FSx for Lustre, for training data and checkpoints: created here, or existing; its log, and its links to S3."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.catalog.fsx import lustre_limits
from llm_fleet.network.network import Network
from llm_fleet.references import log_group_of, region_of
from llm_fleet.rules.buckets import check_data_repositories
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.file_systems import MADE_UP, check_has_network, check_log_group_name
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.lustre_network import doubt_about_region, lustre_claim
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.spec.references import LogGroup
from llm_fleet.spec.spec import in_request
from llm_fleet.spec.storage import DataRepository, ExistingLustre, LustreBackups, LustreSpec
from llm_fleet.storage.file_systems import LUSTRE, FileSystem, ImportedFileSystem, MountableLustre, lustre_kind

_SERVICE_ROLE = "aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_fs-*"
"""The role that FSx creates for each linked file system; its name ends with the file system's id."""


def lustre_configuration(
    spec: LustreSpec, *, efa: bool, log: fsx.CfnFileSystem.LogConfigurationProperty | None
) -> fsx.CfnFileSystem.LustreConfigurationProperty:
    """Return the Lustre half of an `AWS::FSx::FileSystem`, with all defaults filled in.

    A property that a deployment type does not support is omitted: FSx rejects even its `NONE`. `CopyTagsToBackups`
    is set only if requested: a file system that is linked to S3 must not have it, and CloudFormation replaces the
    file system when it changes, so a file system that had it by default could not be linked later without data loss.
    """
    variant, requested = spec.variant, spec.backups or LustreBackups()
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
        daily_automatic_backup_start_time=requested.start_time if days else None,
        copy_tags_to_backups=(requested.copy_tags or None) if backups else None,
        log_configuration=log,
    )


def _metadata(spec: LustreSpec) -> fsx.CfnFileSystem.MetadataConfigurationProperty | None:
    """Always set if it is supported: EFA requires it, and it cannot be added to a file system later."""
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
    """The API requires one on Intelligent-Tiering, and rejects it elsewhere."""
    variant = spec.variant
    if variant is None or variant.throughput_capacity is None:
        return None
    sized = spec.read_cache_gib is not None
    chosen = "USER_PROVISIONED" if sized else "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"
    return fsx.CfnFileSystem.DataReadCacheConfigurationProperty(
        sizing_mode=spec.read_cache or chosen, size_gib=spec.read_cache_gib
    )


def check_log_group(log_group: LogGroup | None) -> Sequence[Problem]:
    """Return the problems of a CDK log group's name for FSx; `check_lustre` checks plain names."""
    return (
        []
        if log_group is None or isinstance(log_group, str)
        else check_log_group_name(_name_of(cast(logs.ILogGroup, log_group)))
    )


def log_configuration(scope: Construct, spec: LustreSpec) -> fsx.CfnFileSystem.LogConfigurationProperty | None:
    """Return the log configuration: warnings and errors by default, if links to S3 are supported.

    Without a log group the service creates `/aws/fsx/lustre`, without expiration.
    """
    level, log_group = spec.log_level, log_group_of(scope, "Logs", spec.log_group)
    linkable = spec.variant is not None and spec.variant.data_repositories
    if level is None and log_group is None and not linkable:
        return None
    destination = None
    if log_group is not None:
        # Not `log_group_arn`, which ends in `:*`: IAM uses that form, FSx does not.
        destination = cdk.Stack.of(scope).format_arn(
            service="logs",
            resource="log-group",
            resource_name=log_group.log_group_name,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
    return fsx.CfnFileSystem.LogConfigurationProperty(level=level or "WARN_ERROR", destination=destination)


def _name_of(log_group: logs.ILogGroup) -> str | None:
    """The name as the user wrote it, which `log_group_name` of a construct returns as a token.

    `None` if it is resolved at deployment.
    """
    resource = log_group.node.default_child
    if not isinstance(resource, logs.CfnLogGroup):
        return log_group.log_group_name
    name = cdk.Stack.of(resource).resolve(resource.log_group_name)
    if name is None:
        return MADE_UP
    return name if isinstance(name, str) else None


class DataRepositoryLink(Construct):
    """An `AWS::FSx::DataRepositoryAssociation`, with FSx's permission to use the bucket's KMS key.

    It is retained with its file system: FSx loads the content of a file when it is first read, and without the link,
    all files that were not read yet are lost.
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
            data_repository_path=repository.data_repository_path,
            **in_request(repository),
            s3=_policies(repository),
        )
        """The L1 beneath."""
        self.resource.apply_removal_policy(removal_policy)
        if not isinstance(repository.s3, str):
            self._allow_key(cast(s3.IBucket, repository.s3))

    def _allow_key(self, bucket: s3.IBucket) -> None:
        """Let FSx's own role use the bucket's key, through S3 and for this bucket only.

        Source: FSx for Lustre User Guide, working with server-side encrypted S3 buckets. The role is in a condition: as
        a principal it would have to exist before the key's policy, and could not have a wildcard.
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
    """The automatic import and export events; a direction without events is omitted."""
    properties = fsx.CfnDataRepositoryAssociation
    imports, exports = list(repository.auto_import), list(repository.auto_export)
    return properties.S3Property(
        auto_import_policy=properties.AutoImportPolicyProperty(events=imports) if imports else None,
        auto_export_policy=properties.AutoExportPolicyProperty(events=exports) if exports else None,
    )


class LustreFileSystem(FileSystem, MountableLustre):
    """An FSx for Lustre file system in one Availability Zone, with its own security group.

    Default: PERSISTENT_2 on SSD, the smallest size, 250 MB/s/TiB, Lustre 2.15, LZ4, automatic metadata IOPS, EFA if
    possible, backups retained for 7 days unless it is linked to S3, events of links to S3 logged.

    It is retained: deleting the stack leaves the file system, its links to S3, its security group and rules, and (by
    `network.keep()`) the subnet, VPC and client security group that its interfaces use and that could not be deleted
    anyway. `removal_policy=RemovalPolicy.DESTROY` deletes everything, the automatic backups included.

    Source of facts: `catalog/data/lustre.json`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        spec: LustreSpec | None = None,
        *,
        network: Network,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Create a file system in a compute subnet of `network`.

        `spec`: its settings. Default: `LustreSpec()`. `removal_policy`: default, it is retained.

        Raises `FleetError` with everything that FSx would reject, before any resource is created.
        """
        path = f"{scope.node.path}/{id}"
        spec = LustreSpec() if spec is None else spec
        raise_problems(check_is_spec(spec, LustreSpec, "spec"), subject=path)
        region = region_of(scope)
        problems = [*check_has_network(network, LUSTRE), *check_lustre(spec), *check_log_group(spec.log_group)]
        if not problems:
            claim = lustre_claim(spec, owner=path, availability_zone_id=spec.availability_zone_id, region=region)
            problems += network.reserve_addresses([claim])
        raise_problems(problems, subject=path)
        self._spec = spec
        self.efa_enabled: bool = spec.effective_efa(region)
        """Whether clients may reach it over EFA."""
        super().__init__(
            scope,
            id,
            network=network,
            availability_zone_id=spec.availability_zone_id,
            kind=lustre_kind(efa_enabled=self.efa_enabled),
            removal_policy=removal_policy,
        )
        doubt = doubt_about_region(spec, region)
        if doubt:
            cdk.Annotations.of(self).add_warning_v2("llm-fleet:lustre-region", doubt)
        self._make(
            file_system_type="LUSTRE",
            file_system_type_version=spec.version,
            storage_type=spec.storage_type,
            storage_capacity=spec.effective_capacity_gib,
            encryption_key=spec.encryption_key,
            lustre_configuration=lustre_configuration(spec, efa=self.efa_enabled, log=log_configuration(self, spec)),
        )
        self.mount_name: str = self.resource.attr_lustre_mount_name
        """The second half of the mount source; generated by the service when the file system is made."""
        self._repositories: list[DataRepository] = []

    @staticmethod
    def from_attributes(scope: Construct, id: str, existing: ExistingLustre) -> MountableLustre:
        """Return a file system that exists already.

        With its security group, `allow_mount_from` opens the ports; without it they must be open already. Raises
        `FleetError` for invalid values.
        """
        return ImportedLustre(scope, id, existing)

    def add_data_repository(self, id: str, repository: DataRepository) -> DataRepositoryLink:
        """Link a folder to S3. A linked file system has no backups, and default backups are turned off.

        Raises `FleetError` with everything that FSx would reject in this link, also in combination with the earlier
        ones.
        """
        path = f"{self.node.path}/{id}"
        raise_problems(check_is_spec(repository, DataRepository, "repository"), subject=path)
        raise_problems(check_data_repositories(self._spec, [*self._repositories, repository]), subject=path)
        self._repositories.append(repository)
        self._switch_backups_off()
        return DataRepositoryLink(
            self,
            id,
            file_system_id=self.file_system_id,
            repository=repository,
            removal_policy=self._removal_policy,
        )

    def _switch_backups_off(self) -> None:
        """FSx rejects backups of a linked file system. Only properties that CloudFormation changes in place are
        changed."""
        variant = self._spec.variant
        if variant is not None and variant.backups:
            self.resource.add_property_override("LustreConfiguration.AutomaticBackupRetentionDays", 0)
        self.resource.add_property_deletion_override("LustreConfiguration.DailyAutomaticBackupStartTime")


class ImportedLustre(ImportedFileSystem, MountableLustre):
    """The result of `LustreFileSystem.from_attributes`."""

    def __init__(self, scope: Construct, id: str, existing: ExistingLustre) -> None:
        """Import it."""
        raise_problems(check_is_spec(existing, ExistingLustre, "existing"), subject=f"{scope.node.path}/{id}")
        super().__init__(scope, id, existing, kind=lustre_kind(efa_enabled=existing.efa_enabled))
        self.mount_name = existing.mount_name
        self.efa_enabled = existing.efa_enabled
