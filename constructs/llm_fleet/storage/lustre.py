"""FSx for Lustre, for training data and checkpoints: made here, or existing."""

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from constructs import Construct

from llm_fleet.network.network import Network
from llm_fleet.references import security_group_of
from llm_fleet.rules.buckets import check_data_repositories
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.file_systems import check_has_network, check_mount_source
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.lustre_network import doubt_about_region, lustre_claim
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.lustre import DataRepository, ExistingLustre, LustreSpec
from llm_fleet.spec.references import KEY
from llm_fleet.storage.file_systems import FileSystemAccess, FileSystemPorts, MountableLustre, lustre_ports
from llm_fleet.storage.render_lustre import DataRepositoryLink, check_log_group, log_configuration, lustre_configuration

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
        spec: LustreSpec | None = None,
        *,
        network: Network,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make a file system in a compute subnet of `network`.

        `spec`: what it is. Default: `LustreSpec()`. `removal_policy`: default, it is retained.

        Raises `FleetError` with everything that FSx would refuse, before any resource is made.
        """
        path = f"{scope.node.path}/{id}"
        spec = LustreSpec() if spec is None else spec
        raise_problems(check_is_spec(spec, LustreSpec, "spec"), subject=path)
        region = None if is_unresolved(stack_region := cdk.Stack.of(scope).region) else stack_region
        zone = spec.availability_zone_id
        problems = [*check_has_network(network, _KIND), *check_lustre(spec), *check_log_group(spec.log_group)]
        if not problems:
            problems += network.reserve_addresses(
                [lustre_claim(spec, owner=path, availability_zone_id=zone, region=region)]
            )
        raise_problems(problems, subject=path)
        super().__init__(scope, id)
        doubt = doubt_about_region(spec, region)
        if doubt:
            cdk.Annotations.of(self).add_warning_v2("llm-fleet:lustre-region", doubt)
        self._spec = spec
        self._efa = spec.effective_efa(region)
        self._access = FileSystemAccess(
            self,
            "Access",
            network=network,
            availability_zone_id=zone,
            ports=lustre_ports(efa_enabled=self._efa),
            servers_talk=True,
            kind=_KIND,
            removal_policy=removal_policy,
        )
        self.resource = fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="LUSTRE",
            file_system_type_version=spec.version,
            subnet_ids=[self._access.subnet_id],
            security_group_ids=[self._access.security_group.security_group_id],
            storage_type=spec.storage_type,
            storage_capacity=spec.effective_capacity_gib,
            kms_key_id=None if spec.encryption_key is None else KEY.name_of(spec.encryption_key),
            lustre_configuration=lustre_configuration(spec, efa=self._efa, log=log_configuration(self, spec)),
            tags=[cdk.CfnTag(key="Name", value=self.node.path)],
        )
        """The L1 beneath."""
        self._access.carry(self.resource)
        self._removal_policy = removal_policy
        self._repositories: list[DataRepository] = []

    @staticmethod
    def from_attributes(scope: Construct, id: str, existing: ExistingLustre) -> MountableLustre:
        """Return a file system that exists already.

        With its security group, `allow_mount_from` opens the ports; without it they must be open already. Raises
        `FleetError` for what FSx gives no file system.
        """
        return ImportedLustre(scope, id, existing)

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
        return self._efa

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

    def add_data_repository(self, id: str, repository: DataRepository) -> DataRepositoryLink:
        """Link a folder to S3. A linked file system has no backups, and those that are the default are switched off.

        Raises `FleetError` with everything that FSx would refuse of this link beside the earlier ones.
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
        """FSx refuses backups of what is linked to S3. Only what CloudFormation changes in place is changed."""
        variant = self._spec.variant
        if variant is not None and variant.backups:
            self.resource.add_property_override("LustreConfiguration.AutomaticBackupRetentionDays", 0)
        self.resource.add_property_deletion_override("LustreConfiguration.DailyAutomaticBackupStartTime")


class ImportedLustre(Construct):
    """What `LustreFileSystem.from_attributes` returns: as much of a file system as was told."""

    def __init__(self, scope: Construct, id: str, existing: ExistingLustre) -> None:
        """Take what is known; nothing is looked up and nothing made but rules."""
        path = f"{scope.node.path}/{id}"
        raise_problems(check_is_spec(existing, ExistingLustre, "existing"), subject=path)
        raise_problems(check_mount_source(existing), subject=path)
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        self.file_system_id = existing.file_system_id
        self.dns_name = existing.dns_name or f"{existing.file_system_id}.fsx.{stack.region}.{stack.url_suffix}"
        self.availability_zone_id: str | None = existing.availability_zone_id
        self.mount_name = existing.mount_name
        self.efa_enabled = existing.efa_enabled
        self._ports: FileSystemPorts | None = None
        security_group = security_group_of(self, "SecurityGroup", existing.security_group)
        if security_group is not None:
            self._ports = FileSystemPorts(
                self,
                "Ports",
                security_group=security_group,
                ports=lustre_ports(efa_enabled=existing.efa_enabled),
                both_ways=True,
                name=_KIND,
                owner=id,
            )

    def allow_mount_from(self, security_group: ec2.ISecurityGroup) -> None:
        """Open the ports between the file system's security group and this one.

        Does nothing when the file system's own group was not told: then its ports must be open already.
        """
        if self._ports is not None:
            self._ports.allow_clients(security_group)
