"""FSx for Lustre, for training data and checkpoints."""

from collections.abc import Sequence

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.network.network import Network
from llm_fleet.rules.data_repositories import DataRepository, check_data_repositories
from llm_fleet.rules.file_systems import check_has_network
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.lustre_addresses import lustre_claim
from llm_fleet.rules.lustre_regions import doubt_about_region
from llm_fleet.rules.lustre_settings import DEFAULT_VERSION, LustreSettings
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.terms import LustreDeploymentType, LustreStorageType
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.storage.data_repository_link import DataRepositoryLink
from llm_fleet.storage.file_system_access import FileSystemAccess
from llm_fleet.storage.file_system_ports import lustre_ports
from llm_fleet.storage.imported_lustre import ImportedLustre
from llm_fleet.storage.lustre_logging import check_logging, log_configuration
from llm_fleet.storage.lustre_properties import lustre_configuration
from llm_fleet.storage.mountable import MountableLustre
from llm_fleet.storage.repository_path import repository_path

_KIND = "FSx for Lustre"


@jsii.implements(ec2.IConnectable)
class LustreFileSystem(Construct):
    """An FSx for Lustre file system in one Availability Zone, with a security group of its own.

    Default: PERSISTENT_2 on SSD, the smallest size, 250 MB/s/TiB, Lustre 2.15, LZ4, automatic metadata IOPS, EFA where
    it is possible, backups kept for 7 days unless it is linked to S3, events of links to S3 logged.

    It is retained: deleting the stack leaves the file system, its links to S3, its security group and rules, and (by
    `network.keep()`) the subnet, VPC and client security group that its interfaces use and that could not be deleted
    under it anyway. `removal_policy=RemovalPolicy.DESTROY` deletes everything, the automatic backups included.

    Source of facts: `catalog/data/lustre.json`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network,
        availability_zone_id: str | None = None,
        deployment_type: str = LustreDeploymentType.PERSISTENT_2,
        storage_type: str = LustreStorageType.SSD,
        storage_capacity_gib: int | None = None,
        per_unit_storage_throughput: int | None = None,
        throughput_capacity: int | None = None,
        metadata_iops: int | None = None,
        efa_enabled: bool | None = None,
        compression: str = "LZ4",
        version: str = DEFAULT_VERSION,
        drive_cache: str | None = None,
        read_cache: str | None = None,
        read_cache_gib: int | None = None,
        backup_retention_days: int | None = None,
        backup_start_time: str | None = None,
        copy_tags_to_backups: bool | None = None,
        maintenance_start_time: str | None = None,
        encryption_key: kms.IKey | None = None,
        log_level: str | None = None,
        log_group: logs.ILogGroup | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make a file system in the compute subnet of `availability_zone_id` (default: the network's first AZ).

        Capacity, throughput and the rest are as `LustreSettings` documents them, with its defaults. `encryption_key`
        is for persistent types (default: the key `aws/fsx` of the account). `log_level` and `log_group` (whose name
        begins with `/aws/fsx`) are for events of links to S3; default: warnings and errors, to `/aws/fsx/lustre`.

        Raises `FleetError` with everything that FSx would refuse, before any resource is made.
        """
        region = cdk.Stack.of(scope).region
        settings = LustreSettings(
            deployment_type=deployment_type,
            storage_type=storage_type,
            storage_capacity_gib=storage_capacity_gib,
            per_unit_storage_throughput=per_unit_storage_throughput,
            throughput_capacity=throughput_capacity,
            metadata_iops=metadata_iops,
            efa_enabled=efa_enabled,
            compression=compression,
            version=version,
            drive_cache=drive_cache,
            read_cache=read_cache,
            read_cache_gib=read_cache_gib,
            backup_retention_days=backup_retention_days,
            backup_start_time=backup_start_time,
            copy_tags_to_backups=copy_tags_to_backups,
            maintenance_start_time=maintenance_start_time,
            own_key=encryption_key is not None,
            region=None if is_unresolved(region) else region,
        )
        path = f"{scope.node.path}/{id}"
        problems = [
            *check_has_network(network, _KIND),
            *check_lustre(settings),
            *check_logging(level=log_level, log_group=log_group),
        ]
        if not problems:
            problems += network.reserve_addresses(
                [lustre_claim(settings, owner=path, availability_zone_id=availability_zone_id)]
            )
        raise_problems(problems, subject=path)
        super().__init__(scope, id)
        doubt = doubt_about_region(settings)
        if doubt:
            cdk.Annotations.of(self).add_warning_v2("llm-fleet:lustre-region", doubt)
        self._settings = settings
        self._access = FileSystemAccess(
            self,
            "Access",
            network=network,
            availability_zone_id=availability_zone_id,
            ports=lustre_ports(efa_enabled=settings.effective_efa),
            servers_talk=True,
            kind=_KIND,
            removal_policy=removal_policy,
        )
        self.resource = fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="LUSTRE",
            file_system_type_version=version,
            subnet_ids=[self._access.subnet_id],
            security_group_ids=[self._access.security_group.security_group_id],
            storage_type=storage_type,
            storage_capacity=settings.effective_capacity_gib,
            kms_key_id=encryption_key.key_arn if encryption_key else None,
            lustre_configuration=lustre_configuration(
                settings, log=log_configuration(self, settings, level=log_level, log_group=log_group)
            ),
            tags=[cdk.CfnTag(key="Name", value=self.node.path)],
        )
        """The L1 beneath."""
        self._access.carry(self.resource)
        self._removal_policy = removal_policy
        self._repositories: list[DataRepository] = []

    @staticmethod
    def from_attributes(
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        mount_name: str,
        dns_name: str | None = None,
        availability_zone_id: str | None = None,
        efa_enabled: bool = False,
        security_group: ec2.ISecurityGroup | None = None,
    ) -> MountableLustre:
        """Return a file system that exists already.

        `dns_name`: default is what FSx gives a file system of this id in the stack's region. `security_group` is the
        file system's own: with it `allow_mount_from` opens the ports, without it they must be open already.
        """
        return ImportedLustre(
            scope,
            id,
            file_system_id=file_system_id,
            mount_name=mount_name,
            dns_name=dns_name,
            availability_zone_id=availability_zone_id,
            efa_enabled=efa_enabled,
            security_group=security_group,
        )

    @property
    def file_system_id(self) -> str:
        """The id, `fs-…`."""
        return self.resource.ref

    @property
    def dns_name(self) -> str:
        """The name that clients mount."""
        return self.resource.attr_dns_name

    @property
    def mount_name(self) -> str:
        """The second half of the mount source; generated by the service when the file system is made."""
        return self.resource.attr_lustre_mount_name

    @property
    def availability_zone_id(self) -> str | None:
        """The AZ id where it stands."""
        return self._access.availability_zone_id

    @property
    def efa_enabled(self) -> bool:
        """Whether clients may reach it over EFA."""
        return self._settings.effective_efa

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The group of the file system's own interfaces."""
        return self._access.security_group

    @property
    def connections(self) -> ec2.Connections:
        """The connections of `security_group`; prefer `allow_mount_from`, which opens every port, both ways."""
        return self._access.connections

    def allow_mount_from(self, security_group: ec2.ISecurityGroup) -> None:
        """Open the ports, both ways, to clients in `security_group`. Idempotent; the network's own group is in already.

        The rules stand in the stack of `security_group`, and go with it; those of one imported by its id, or of the
        network's own stack, stand beside the file system.
        """
        self._access.ports.allow_clients(security_group)

    def add_data_repository(
        self,
        id: str,
        *,
        file_system_path: str,
        bucket: s3.IBucket | None = None,
        prefix: str = "",
        data_repository_path: str | None = None,
        auto_import: Sequence[str] = ("NEW", "CHANGED", "DELETED"),
        auto_export: Sequence[str] = (),
        import_existing: bool = True,
    ) -> DataRepositoryLink:
        """Link the directory `file_system_path` to `bucket` (and `prefix` in it), or to an `s3://` path.

        Of a `bucket` with a KMS key of its own, FSx is allowed to use the key; of an `s3://` path the key's policy must
        say so already. A linked file system has no backups, and those that are the default are switched off.

        Raises `FleetError` with everything that FSx would refuse of this link beside the earlier ones.
        """
        source, problems = repository_path(bucket=bucket, prefix=prefix, data_repository_path=data_repository_path)
        repository = DataRepository(
            file_system_path=file_system_path,
            data_repository_path=source,
            auto_import=tuple(auto_import),
            auto_export=tuple(auto_export),
            import_existing=import_existing,
        )
        if not problems:
            problems = check_data_repositories(self._settings, [*self._repositories, repository])
        raise_problems(problems, subject=f"{self.node.path}/{id}")
        self._repositories.append(repository)
        self._switch_backups_off()
        return DataRepositoryLink(
            self,
            id,
            file_system_id=self.file_system_id,
            repository=repository,
            bucket=bucket,
            removal_policy=self._removal_policy,
        )

    def _switch_backups_off(self) -> None:
        """FSx refuses backups of what is linked to S3. Only what CloudFormation changes in place is changed."""
        variant = self._settings.variant
        if variant is not None and variant.backups:
            self.resource.add_property_override("LustreConfiguration.AutomaticBackupRetentionDays", 0)
        self.resource.add_property_deletion_override("LustreConfiguration.DailyAutomaticBackupStartTime")
