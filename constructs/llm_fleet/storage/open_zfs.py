"""FSx for OpenZFS, for home directories: created here, or existing; and its volumes."""

import aws_cdk as cdk
from aws_cdk import aws_fsx as fsx
from constructs import Construct

from llm_fleet.catalog.fsx import open_zfs_limits
from llm_fleet.network.network import Network
from llm_fleet.references import hold
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.file_systems import check_has_network, check_open_zfs, check_volume
from llm_fleet.rules.problem import raise_problems
from llm_fleet.spec.storage import ExistingOpenZfs, OpenZfsSpec, OpenZfsVolumeSpec
from llm_fleet.storage.file_systems import (
    OPEN_ZFS,
    FileSystem,
    ImportedFileSystem,
    MountableOpenZfs,
    open_zfs_kind,
)

# Lifecycle scripts create home directories as root and change their owners, which is not possible with root squash.
# `crossmnt` shows snapshots, and `sync` (which the service adds) acknowledges writes only when they are durable.
EXPORT_OPTIONS = ("rw", "crossmnt", "no_root_squash")
"""NFS export options of every volume, including the root volume."""


class OpenZfsVolume(Construct):
    """An `AWS::FSx::Volume`, for data that clusters share in addition to home directories, e.g. `/apps`.

    `OpenZfsFileSystem.add_volume` creates it. It is retained with its file system, so that a new cluster can use the
    files of an old one.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        parent_volume_id: str,
        dns_name: str,
        export_path: str,
        volume_name: str,
        quota_gib: int | None,
        compression: str,
        record_size_kib: int | None,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Make the volume `volume_name` beneath `parent_volume_id`. `quota_gib`: `None` for all of the file system."""
        super().__init__(scope, id)
        properties = fsx.CfnVolume
        export = properties.ClientConfigurationsProperty(clients="*", options=list(EXPORT_OPTIONS))
        self.resource = fsx.CfnVolume(
            self,
            "Resource",
            name=volume_name,
            volume_type="OPENZFS",
            open_zfs_configuration=properties.OpenZFSConfigurationProperty(
                parent_volume_id=parent_volume_id,
                # FSx compresses no volume by default, even if its parent is compressed.
                data_compression_type=compression,
                record_size_kib=record_size_kib,
                storage_capacity_quota_gib=quota_gib,
                copy_tags_to_snapshots=True,
                nfs_exports=[properties.NfsExportsProperty(client_configurations=[export])],
            ),
            tags=[cdk.CfnTag(key="Name", value=self.node.path)],
        )
        """The L1 beneath."""
        self.resource.apply_removal_policy(removal_policy)
        hold(self.resource)
        self.dns_name: str = dns_name
        """The DNS name that clients mount, that of its file system."""
        self.export_path: str = export_path
        """Its NFS path: clients mount `<dns_name>:<export_path>`."""

    @property
    def volume_id(self) -> str:
        """The id, `fsvol-…`, by which ParallelCluster mounts it."""
        return self.resource.ref


class OpenZfsFileSystem(FileSystem, MountableOpenZfs):
    """An FSx for OpenZFS file system in one Availability Zone, made to be mounted as `/home` by every node.

    Default: 512 GiB and 160 MB/s with a standby server (SINGLE_AZ_HA_2), compressed with ZSTD, backups retained for 30
    days, the root volume exported to every client that its security group allows.

    It is retained with its dependencies, like `LustreFileSystem`.

    Source of facts: `catalog/data/openzfs.json`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        spec: OpenZfsSpec | None = None,
        *,
        network: Network,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Create a file system in a compute subnet of `network`.

        `spec`: its settings. Default: `OpenZfsSpec()`. `removal_policy`: default, it is retained.

        Raises `FleetError` with everything that FSx would reject, before any resource is created.
        """
        path = f"{scope.node.path}/{id}"
        spec = OpenZfsSpec() if spec is None else spec
        raise_problems(check_is_spec(spec, OpenZfsSpec, "spec"), subject=path)
        problems = [*check_has_network(network, OPEN_ZFS), *check_open_zfs(spec)]
        if not problems:
            zone = spec.availability_zone_id
            claim = AddressClaim.for_file_system(owner=path, what=OPEN_ZFS, availability_zone_id=zone)
            problems = network.reserve_addresses([claim])
        raise_problems(problems, subject=path)
        super().__init__(
            scope,
            id,
            network=network,
            availability_zone_id=spec.availability_zone_id,
            kind=open_zfs_kind(),
            removal_policy=removal_policy,
        )
        self._spec = spec
        self._volume_names: list[str] = []
        self._make(
            file_system_type="OPENZFS",
            storage_type="SSD",
            storage_capacity=spec.storage_capacity_gib,
            encryption_key=spec.encryption_key,
            open_zfs_configuration=_configuration(spec),
        )
        self.volume_id: str | None = self.resource.attr_root_volume_id
        """The id of the root volume, `fsvol-…`."""

    def add_volume(self, id: str, volume: OpenZfsVolumeSpec | None = None) -> OpenZfsVolume:
        """Create a volume, e.g. for `/apps`: exported, compressed and retained like the root volume.

        A client that mounts the root volume also sees it under its name, so no home directory can have that name.
        Raises `FleetError` with everything that FSx would reject in it, also in combination with the earlier ones.
        """
        path = f"{self.node.path}/{id}"
        volume = OpenZfsVolumeSpec() if volume is None else volume
        raise_problems(check_is_spec(volume, OpenZfsVolumeSpec, "volume"), subject=path)
        name = id if volume.name is None else volume.name
        taken = dict.fromkeys(self._volume_names, "the file system already has a volume of this name")
        problems = check_volume(volume, name, capacity_gib=self._spec.storage_capacity_gib, taken=taken)
        raise_problems(problems, subject=path)
        self._volume_names.append(name)
        return OpenZfsVolume(
            self,
            id,
            parent_volume_id=self.resource.attr_root_volume_id,
            dns_name=self.dns_name,
            export_path=f"{self.export_path}/{name}",
            volume_name=name,
            quota_gib=volume.quota_gib,
            compression=self._spec.compression,
            record_size_kib=self._spec.record_size_kib,
            removal_policy=self._removal_policy,
        )

    @staticmethod
    def from_attributes(scope: Construct, id: str, existing: ExistingOpenZfs) -> MountableOpenZfs:
        """Return a file system that exists already; see `LustreFileSystem.from_attributes`."""
        return ImportedOpenZfs(scope, id, existing)

    @property
    def export_path(self) -> str:
        """The NFS path of the root volume, `/fsx`."""
        return open_zfs_limits().root_export_path


def _configuration(spec: OpenZfsSpec) -> fsx.CfnFileSystem.OpenZFSConfigurationProperty:
    properties = fsx.CfnFileSystem
    days, iops = spec.effective_backup_retention_days, spec.disk_iops
    start_time = spec.backups.start_time if spec.backups is not None else None
    export = properties.ClientConfigurationsProperty(clients="*", options=list(EXPORT_OPTIONS))
    return properties.OpenZFSConfigurationProperty(
        deployment_type=spec.deployment_type,
        throughput_capacity=spec.effective_throughput_capacity,
        disk_iops_configuration=properties.DiskIopsConfigurationProperty(mode="USER_PROVISIONED", iops=iops)
        if iops
        else None,
        automatic_backup_retention_days=days,
        daily_automatic_backup_start_time=start_time if days else None,
        copy_tags_to_backups=True,
        copy_tags_to_volumes=True,
        weekly_maintenance_start_time=spec.maintenance_start_time,
        root_volume_configuration=properties.RootVolumeConfigurationProperty(
            data_compression_type=spec.compression,
            record_size_kib=spec.record_size_kib,
            copy_tags_to_snapshots=True,
            nfs_exports=[properties.NfsExportsProperty(client_configurations=[export])],
        ),
    )


class ImportedOpenZfs(ImportedFileSystem, MountableOpenZfs):
    """The result of `OpenZfsFileSystem.from_attributes`."""

    def __init__(self, scope: Construct, id: str, existing: ExistingOpenZfs) -> None:
        """Import it."""
        raise_problems(check_is_spec(existing, ExistingOpenZfs, "existing"), subject=f"{scope.node.path}/{id}")
        super().__init__(scope, id, existing, kind=open_zfs_kind())
        self.volume_id = existing.volume_id
