"""An OpenZFS file system that exists already."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.storage.file_system_ports import FileSystemPorts, open_zfs_ports


class ImportedOpenZfs(Construct):
    """What `OpenZfsFileSystem.from_attributes` returns: as much of a file system as was told."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        dns_name: str | None,
        volume_id: str | None = None,
        availability_zone_id: str | None,
        security_group: ec2.ISecurityGroup | None,
    ) -> None:
        """Take what is known; nothing is looked up and nothing made but rules."""
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        self.file_system_id = file_system_id
        self.dns_name = dns_name or f"{file_system_id}.fsx.{stack.region}.{stack.url_suffix}"
        self.volume_id: str | None = volume_id
        self.availability_zone_id: str | None = availability_zone_id
        self._ports: FileSystemPorts | None = None
        if security_group is not None:
            ports = open_zfs_ports()
            self._ports = FileSystemPorts(
                self,
                "Ports",
                security_group=security_group,
                ports=ports,
                both_ways=False,
                name="FSx for OpenZFS",
                owner=id,
            )

    def allow_mount_from(self, security_group: ec2.ISecurityGroup) -> None:
        """Open the ports between the file system's security group and this one.

        Does nothing when the file system's own group was not told: then its ports must be open already.
        """
        if self._ports is not None:
            self._ports.allow_clients(security_group)
