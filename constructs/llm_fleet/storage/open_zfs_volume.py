"""A volume beneath the root volume of an OpenZFS file system."""

import aws_cdk as cdk
from aws_cdk import aws_fsx as fsx
from constructs import Construct

from llm_fleet.held import hold

# Lifecycle scripts make home directories as root and hand them to their users: with root squashed they could not.
# `crossmnt` shows snapshots, and `sync` (which the service adds) keeps what was said to be written.
EXPORT_OPTIONS = ("rw", "crossmnt", "no_root_squash")
"""How every volume is exported, the root volume too."""


class OpenZfsVolume(Construct):
    """An `AWS::FSx::Volume`, for what clusters share beside home directories, e.g. `/apps`.

    `OpenZfsFileSystem.add_volume` makes it. It is retained with its file system, so that a new cluster finds what an
    old one has left there.
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
                # FSx compresses no volume by itself, whatever its parent does.
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
        """The name that clients mount, its file system's."""
        self.export_path: str = export_path
        """Its NFS path: clients mount `<dns_name>:<export_path>`."""

    @property
    def volume_id(self) -> str:
        """The id, `fsvol-…`, by which ParallelCluster mounts it."""
        return self.resource.ref
