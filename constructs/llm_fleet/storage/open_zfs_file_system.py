"""FSx for OpenZFS, for home directories."""

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.catalog.openzfs import open_zfs_limits
from llm_fleet.network.network import Network
from llm_fleet.rules.file_systems import check_has_network
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.openzfs import OpenZfsSettings, check_open_zfs
from llm_fleet.rules.openzfs_volumes import check_volume
from llm_fleet.rules.problem import raise_problems
from llm_fleet.storage.file_system_access import FileSystemAccess
from llm_fleet.storage.file_system_ports import open_zfs_ports
from llm_fleet.storage.imported_open_zfs import ImportedOpenZfs
from llm_fleet.storage.mountable import MountableOpenZfs
from llm_fleet.storage.open_zfs_volume import EXPORT_OPTIONS, OpenZfsVolume

_KIND = "FSx for OpenZFS"
_DEFAULTS = OpenZfsSettings()


@jsii.implements(ec2.IConnectable)
class OpenZfsFileSystem(Construct):
    """An FSx for OpenZFS file system in one Availability Zone, made to be mounted as `/home` by every node.

    Default: 512 GiB and 160 MB/s with a standby server (SINGLE_AZ_HA_2), compressed with ZSTD, backups kept for 30
    days, the root volume exported to every client that its security group lets in.

    It is retained, with all that it stands on, just as `LustreFileSystem` is.

    Source of facts: `catalog/data/openzfs.json`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network,
        availability_zone_id: str | None = None,
        deployment_type: str = _DEFAULTS.deployment_type,
        storage_capacity_gib: int = _DEFAULTS.storage_capacity_gib,
        throughput_capacity: int | None = None,
        disk_iops: int | None = None,
        compression: str = _DEFAULTS.compression,
        record_size_kib: int | None = None,
        backup_retention_days: int = _DEFAULTS.backup_retention_days,
        backup_start_time: str | None = None,
        maintenance_start_time: str | None = None,
        encryption_key: kms.IKey | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make a file system in the compute subnet of `availability_zone_id` (default: the network's first AZ).

        Capacity, throughput and the rest are as `OpenZfsSettings` documents them. `encryption_key`: default the key
        `aws/fsx` of the account.

        Raises `FleetError` with everything that FSx would refuse, before any resource is made.
        """
        settings = OpenZfsSettings(
            deployment_type=deployment_type,
            storage_capacity_gib=storage_capacity_gib,
            throughput_capacity=throughput_capacity,
            disk_iops=disk_iops,
            compression=compression,
            record_size_kib=record_size_kib,
            backup_retention_days=backup_retention_days,
            backup_start_time=backup_start_time,
            maintenance_start_time=maintenance_start_time,
        )
        path = f"{scope.node.path}/{id}"
        problems = [*check_has_network(network, _KIND), *check_open_zfs(settings)]
        if not problems:
            claim = AddressClaim.for_file_system(owner=path, what=_KIND, availability_zone_id=availability_zone_id)
            problems = network.reserve_addresses([claim])
        raise_problems(problems, subject=path)
        super().__init__(scope, id)
        self._settings = settings
        self._removal_policy = removal_policy
        self._volume_names: list[str] = []
        self._access = FileSystemAccess(
            self,
            "Access",
            network=network,
            availability_zone_id=availability_zone_id,
            ports=open_zfs_ports(),
            servers_talk=False,
            kind=_KIND,
            removal_policy=removal_policy,
        )
        self.resource = fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="OPENZFS",
            subnet_ids=[self._access.subnet_id],
            security_group_ids=[self._access.security_group.security_group_id],
            storage_type="SSD",
            storage_capacity=storage_capacity_gib,
            kms_key_id=encryption_key.key_arn if encryption_key else None,
            open_zfs_configuration=_configuration(settings),
            tags=[cdk.CfnTag(key="Name", value=self.node.path)],
        )
        """The L1 beneath."""
        self._access.carry(self.resource)

    def add_volume(self, id: str, *, volume_name: str | None = None, quota_gib: int | None = None) -> OpenZfsVolume:
        """Make a volume beside the root volume's own files, e.g. for `/apps`: exported, compressed and kept as that is.

        `volume_name`: the last part of its export path, `/fsx/<name>`. Default: `id`. Who mounts the root volume finds
        it there under this name too, so that no home directory may have it. `quota_gib`: how much of the file system it
        may take. Default: all.

        Raises `FleetError` with what FSx would refuse of it beside the earlier ones.
        """
        name = id if volume_name is None else volume_name
        problems = check_volume(
            name=name,
            quota_gib=quota_gib,
            capacity_gib=self._settings.storage_capacity_gib,
            taken=dict.fromkeys(self._volume_names, "the file system has a volume of this name already"),
        )
        raise_problems(problems, subject=f"{self.node.path}/{id}")
        self._volume_names.append(name)
        return OpenZfsVolume(
            self,
            id,
            parent_volume_id=self.resource.attr_root_volume_id,
            dns_name=self.dns_name,
            export_path=f"{self.export_path}/{name}",
            volume_name=name,
            quota_gib=quota_gib,
            compression=self._settings.compression,
            record_size_kib=self._settings.record_size_kib,
            removal_policy=self._removal_policy,
        )

    @staticmethod
    def from_attributes(
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        dns_name: str | None = None,
        volume_id: str | None = None,
        availability_zone_id: str | None = None,
        security_group: ec2.ISecurityGroup | None = None,
    ) -> MountableOpenZfs:
        """Return a file system that exists already; see `LustreFileSystem.from_attributes`.

        `volume_id`: its root volume, or a child volume to mount in its place, which a ParallelCluster asks for.
        """
        return ImportedOpenZfs(
            scope,
            id,
            file_system_id=file_system_id,
            dns_name=dns_name,
            volume_id=volume_id,
            availability_zone_id=availability_zone_id,
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
    def volume_id(self) -> str | None:
        """The id of the root volume, `fsvol-…`."""
        return self.resource.attr_root_volume_id

    @property
    def export_path(self) -> str:
        """The NFS path of the root volume, `/fsx`."""
        return open_zfs_limits().root_export_path

    @property
    def availability_zone_id(self) -> str | None:
        """The AZ id where it stands."""
        return self._access.availability_zone_id

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The group of the file system's own interfaces."""
        return self._access.security_group

    @property
    def connections(self) -> ec2.Connections:
        """The connections of `security_group`; prefer `allow_mount_from`, which opens every port."""
        return self._access.connections

    def allow_mount_from(self, security_group: ec2.ISecurityGroup) -> None:
        """Open the ports to clients in `security_group`. Idempotent; the network's own group is in already."""
        self._access.ports.allow_clients(security_group)


def _configuration(settings: OpenZfsSettings) -> fsx.CfnFileSystem.OpenZFSConfigurationProperty:
    properties = fsx.CfnFileSystem
    days, iops = settings.backup_retention_days, settings.disk_iops
    export = properties.ClientConfigurationsProperty(clients="*", options=list(EXPORT_OPTIONS))
    return properties.OpenZFSConfigurationProperty(
        deployment_type=settings.deployment_type,
        throughput_capacity=settings.effective_throughput_capacity,
        disk_iops_configuration=properties.DiskIopsConfigurationProperty(mode="USER_PROVISIONED", iops=iops)
        if iops
        else None,
        automatic_backup_retention_days=days,
        daily_automatic_backup_start_time=settings.backup_start_time if days else None,
        copy_tags_to_backups=True,
        copy_tags_to_volumes=True,
        weekly_maintenance_start_time=settings.maintenance_start_time,
        root_volume_configuration=properties.RootVolumeConfigurationProperty(
            data_compression_type=settings.compression,
            record_size_kib=settings.record_size_kib,
            copy_tags_to_snapshots=True,
            nfs_exports=[properties.NfsExportsProperty(client_configurations=[export])],
        ),
    )
