"""A Lustre file system that exists already."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.storage.file_system_ports import FileSystemPorts, lustre_ports


class ImportedLustre(Construct):
    """What `LustreFileSystem.from_attributes` returns: as much of a file system as was told."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        mount_name: str,
        dns_name: str | None,
        availability_zone_id: str | None,
        efa_enabled: bool,
        security_group: ec2.ISecurityGroup | None,
    ) -> None:
        """Take what is known; nothing is looked up and nothing made but rules."""
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        self.file_system_id = file_system_id
        self.mount_name = mount_name
        self.dns_name = dns_name or f"{file_system_id}.fsx.{stack.region}.{stack.url_suffix}"
        self.availability_zone_id: str | None = availability_zone_id
        self.efa_enabled = efa_enabled
        self._ports: FileSystemPorts | None = None
        if security_group is not None:
            ports = lustre_ports(efa_enabled=efa_enabled)
            self._ports = FileSystemPorts(
                self,
                "Ports",
                security_group=security_group,
                ports=ports,
                both_ways=True,
                name="FSx for Lustre",
                owner=id,
            )

    def allow_mount_from(self, security_group: ec2.ISecurityGroup) -> None:
        """Open the ports between the file system's security group and this one.

        Does nothing when the file system's own group was not told: then its ports must be open already.
        """
        if self._ports is not None:
            self._ports.allow_clients(security_group)
