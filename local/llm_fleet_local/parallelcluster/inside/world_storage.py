"""Creates the FSx, EFS and S3 resources of a configuration in moto. Ids are the configuration's own."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlparse

from moto.efs.models import efs_backends
from moto.fsx.models import fsx_backends
from moto.s3.models import s3_backends

from llm_fleet_local.parallelcluster import named
from llm_fleet_local.parallelcluster.inside.account_context import AccountContext
from llm_fleet_local.parallelcluster.inside.world_ec2 import ACCOUNT, NETWORK, backend, make_security_group

FILE_SYSTEM_GROUP = "sg-0000000000000f5a1"


@dataclass(frozen=True, kw_only=True)
class FileSystem:
    """An FSx file system as DescribeFileSystems returns it: moto's lacks VPC and network interfaces."""

    file_system_id: str
    kind: str
    vpc_id: str
    subnet_id: str
    interface_id: str

    def to_dict(self) -> dict[str, Any]:
        """Return the response for moto."""
        return {
            "FileSystemId": self.file_system_id,
            "FileSystemType": self.kind,
            "Lifecycle": "AVAILABLE",
            "StorageCapacity": 4800,
            "StorageType": "SSD",
            "VpcId": self.vpc_id,
            "SubnetIds": [self.subnet_id],
            "NetworkInterfaceIds": [self.interface_id],
            "DNSName": f"{self.file_system_id}.fsx.amazonaws.com",
            "LustreConfiguration": {"MountName": "mount", "DeploymentType": "PERSISTENT_2"},
        }


def furnish_storage(region: str, configuration: dict[str, Any], account_context: AccountContext, vpc_id: str) -> str:
    """Create every file system and bucket, with its objects, in a configuration.

    Return the id of the network interface that file caches share; empty without a subnet.
    """
    ec2 = backend(region)
    make_security_group(ec2, vpc_id, FILE_SYSTEM_GROUP, cidr=NETWORK)
    subnet = next((subnet for zone in ec2.subnets.values() for subnet in zone.values()), None)
    if subnet is not None:
        interface = ec2.create_network_interface(subnet, None, group_ids=[FILE_SYSTEM_GROUP])
        _make_fsx(region, configuration, account_context, subnet)
    _make_efs(region, configuration, account_context)
    _make_buckets(region, configuration, account_context)
    return interface.id if subnet is not None else ""


def volumes_file_system(volume_id: str) -> str:
    """Return the id of the file system that a volume is on."""
    return f"fs-{volume_id.removeprefix('fsvol-')}"


def _make_fsx(region: str, configuration: dict[str, Any], account_context: AccountContext, subnet: Any) -> None:
    fsx = fsx_backends[ACCOUNT][region]
    fsx.file_systems.clear()
    lustre = [one.get("FileSystemId") for one in named.shared_storage(configuration, "FsxLustre")]
    wanted = {file_system: "LUSTRE" for file_system in lustre if file_system}
    for storage, kind in (("FsxOpenZfs", "OPENZFS"), ("FsxOntap", "ONTAP")):
        for settings in named.shared_storage(configuration, storage):
            wanted[volumes_file_system(str(settings.get("VolumeId")))] = kind
    for file_system_id in account_context.exist(list(wanted)):
        interface = backend(region).create_network_interface(subnet, None, group_ids=[FILE_SYSTEM_GROUP])
        fsx.file_systems[file_system_id] = FileSystem(
            file_system_id=file_system_id,
            kind=wanted[file_system_id],
            vpc_id=account_context.file_system_vpcs.get(file_system_id, subnet.vpc_id),
            subnet_id=subnet.id,
            interface_id=interface.id,
        )


def _make_efs(region: str, configuration: dict[str, Any], account_context: AccountContext) -> None:
    """Create each file system with a mount target in each AZ of the configuration's subnets."""
    efs = efs_backends[ACCOUNT][region]
    efs.file_systems_by_id.clear()
    efs.mount_targets_by_id.clear()
    efs.creation_tokens.clear()
    settings = named.shared_storage(configuration, "Efs")
    for file_system_id in account_context.exist(named.values({"Efs": settings}, "FileSystemId")):
        file_system = efs.create_file_system(f"token-{file_system_id}", None, True, "", "bursting", 0, "", False, [])
        del efs.file_systems_by_id[file_system.file_system_id]
        file_system.file_system_id = file_system_id
        file_system.availability_zone_name = None  # any name, also an empty one, means a One Zone file system
        efs.file_systems_by_id[file_system_id] = file_system
        for zone in backend(region).subnets.values():
            for subnet in list(zone.values())[:1]:
                efs.create_mount_target(file_system_id, subnet.id, None, [FILE_SYSTEM_GROUP])


def _make_buckets(region: str, configuration: dict[str, Any], account_context: AccountContext) -> None:
    s3 = s3_backends[ACCOUNT]["aws"]
    s3.buckets.clear()
    s3_backends.bucket_accounts.clear()
    for bucket in account_context.exist(named.values(configuration, "BucketName", "CustomS3Bucket")):
        if bucket != "*":
            _make_bucket(region, bucket)
    for uri in account_context.exist(named.s3_uris(configuration)):
        url = urlparse(uri)
        if url.netloc in account_context.missing:
            continue
        _make_bucket(region, url.netloc)
        if url.path.strip("/"):
            s3.put_object(url.netloc, url.path.lstrip("/"), b"")


def _make_bucket(region: str, name: str) -> None:
    s3 = s3_backends[ACCOUNT]["aws"]
    if name not in s3.buckets:
        s3.create_bucket(name, region)
        s3.put_bucket_versioning(name, "Enabled")
