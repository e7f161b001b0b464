"""FSx file systems: every setting is kept, and FSx's rules for networks and keys apply.

moto drops version, network, mount name and root volume, lacks `UpdateFileSystem`, checks neither subnets nor security
groups, and creates Lustre without a mount name.
"""

import secrets
import string
import time
from typing import Any

from moto.fsx.models import FileSystem
from moto.fsx.responses import FSxResponse
from moto.kms.models import kms_backends

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation, known_members
from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf

_CONFIGURATIONS = {"LUSTRE": "LustreConfiguration", "OPENZFS": "OpenZFSConfiguration"}
_MOUNT_NAME_LENGTH = 8
_EFA_STEPS = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
"""Growth step of a file system with EFA in GiB, by throughput in MB/s per TiB."""
_SAME_AS_LEAVING_OUT: dict[str, Any] = {"DeploymentType": "SCRATCH_1"}


def install() -> None:
    """Replace moto's file system operations."""
    install_operation(FSxResponse, "fsx", "CreateFileSystem", _create, invalid="BadRequest")
    install_operation(FSxResponse, "fsx", "UpdateFileSystem", _update, invalid="BadRequest")
    install_operation(FSxResponse, "fsx", "DeleteFileSystem", _delete, invalid="BadRequest")
    FileSystem.to_dict = _described


def file_system(response: Any, file_system_id: str) -> Any:
    """Return a file system, or raise FSx's error.

    Source: model botocore fsx FileSystemNotFound
    Source: assumption service-error-texts
    """
    found = response.fsx_backend.file_systems.get(file_system_id)
    if found is None:
        raise Rejected("FileSystemNotFound", f"File system '{file_system_id}' does not exist.")
    return found


def _create(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    network = NetworkOf(response.current_account, response.region)
    kind = params["FileSystemType"]
    groups = _checked_network(network, params)
    _check_key(response, params.get("KmsKeyId"))
    made = response.fsx_backend.create_file_system(
        client_request_token=params.get("ClientRequestToken"),
        file_system_type=kind,
        storage_capacity=params.get("StorageCapacity"),
        storage_type=params.get("StorageType", "SSD"),
        subnet_ids=params["SubnetIds"],
        security_group_ids=groups,
        tags=params.get("Tags"),
        kms_key_id=params.get("KmsKeyId"),
        windows_configuration=params.get("WindowsConfiguration"),
        lustre_configuration=params.get("LustreConfiguration"),
        ontap_configuration=params.get("OntapConfiguration"),
        file_system_type_version=params.get("FileSystemTypeVersion"),
        open_zfs_configuration=params.get("OpenZFSConfiguration"),
    )
    description = f"Created by Amazon FSx for {made.file_system_id}"
    made.record = {name: value for name, value in params.items() if name not in ("ClientRequestToken", "Tags")} | {
        "OwnerId": response.current_account,
        "CreationTime": time.time(),
        "FileSystemId": made.file_system_id,
        "Lifecycle": "AVAILABLE",
        "StorageType": params.get("StorageType", "SSD"),
        "VpcId": network.subnet(params["SubnetIds"][0]).vpc_id,
        "DNSName": made.dns_name,
        "ResourceARN": made.resource_arn,
        "NetworkInterfaceIds": [network.attach(one, groups, description) for one in params["SubnetIds"]],
    }
    _complete(made.record, response)
    return {"FileSystem": made.to_dict()}


def _complete(record: dict[str, Any], response: Any) -> None:
    """Add the members that the service sets: Lustre's mount name, OpenZFS's root volume."""
    kind = record["FileSystemType"]
    name = _CONFIGURATIONS.get(kind)
    if name is None:
        return
    requested: dict[str, Any] = record.get(name, {})
    if kind == "LUSTRE":
        letters = string.ascii_lowercase + string.digits
        mount_name = "".join(secrets.choice(letters) for _ in range(_MOUNT_NAME_LENGTH))
        paths = {"ImportPath", "ExportPath", "ImportedFileChunkSize", "AutoImportPolicy"} & set(requested)
        repository = {"DataRepositoryConfiguration": {one: requested[one] for one in paths}} if paths else {}
        rest = {one: value for one, value in requested.items() if one not in paths}
        record[name] = _SAME_AS_LEAVING_OUT | rest | repository | {"MountName": mount_name}
        return
    from llm_fleet_local.aws.resources.moto_fixes.fsx_volumes import make_root_volume

    root = requested.get("RootVolumeConfiguration", {})
    rest = {one: value for one, value in requested.items() if one != "RootVolumeConfiguration"}
    record[name] = rest | {"RootVolumeId": make_root_volume(response, record["FileSystemId"], root)}


def _checked_network(network: NetworkOf, params: dict[str, Any]) -> list[str]:
    """Return the effective security groups, or raise FSx's error if it cannot create its interfaces there.

    Source: model botocore fsx InvalidNetworkSettings
    Source: document https://docs.aws.amazon.com/fsx/latest/LustreGuide/cannot-create-fs.html (2026-11)
    """
    subnets = params["SubnetIds"]
    problems = network.problems(subnets, params.get("SecurityGroupIds", []))
    if problems:
        raise Rejected("InvalidNetworkSettings", "; ".join(problems))
    groups = params.get("SecurityGroupIds") or [network.default_group_id(network.subnet(subnets[0]).vpc_id)]
    if params["FileSystemType"] != "LUSTRE":
        return groups
    if not network.allows_lustre(groups, subnets[0]):
        raise Rejected(
            "InvalidNetworkSettings",
            f"The file system cannot be created because the provided security groups {groups} do not permit Lustre "
            "LNET network traffic on port 988 from themselves",
        )
    if params.get("LustreConfiguration", {}).get("EfaEnabled") and not network.allows_all_within(groups):
        raise Rejected(
            "InvalidNetworkSettings",
            "The EFA-enabled file system cannot be created because of insufficient security group permissions: "
            f"{groups} must permit all traffic from and to themselves",
        )
    return groups


def _check_key(response: Any, key: str | None) -> None:
    if not key:
        return
    keys = kms_backends[response.current_account][response.region]
    alias = keys.get_key_id_from_alias(key.rsplit(":", 1)[-1]) if "alias/" in key else None
    if (alias or keys.get_key_id(key)) not in keys.keys:
        # Source: assumption fsx-refusals
        raise Rejected("BadRequest", f"The KMS key '{key}' does not exist")


def _update(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    found = file_system(response, params["FileSystemId"])
    _check_capacity(found.record, params.get("StorageCapacity"))
    _check_settings(found.record, params)
    _check_efa(found.record, params)
    for name, value in params.items():
        if isinstance(value, dict):
            found.record[name] = found.record.get(name, {}) | value
        elif name != "ClientRequestToken":
            found.record[name] = value
    return {"FileSystem": found.to_dict()}


def _check_capacity(record: dict[str, Any], after: int | None) -> None:
    """Reject smaller storage, growth of OpenZFS by less than 10%, and any growth of the Lustre type SCRATCH_1.

    Source: model botocore fsx UpdateFileSystemRequest (StorageCapacity)
    """
    before = record.get("StorageCapacity")
    if before is None or after is None or after == before:
        return
    least = before * 11 if record["FileSystemType"] == "OPENZFS" else before * 10 + 1
    grows = record.get("LustreConfiguration", {}).get("DeploymentType") != "SCRATCH_1"
    if after * 10 < least or not grows:
        raise Rejected("BadRequest", f"StorageCapacity cannot change from {before} GiB to {after} GiB.")


def _check_settings(record: dict[str, Any], params: dict[str, Any]) -> None:
    """Reject another storage type, less throughput of Intelligent-Tiering, and fewer metadata IOPS of Lustre.

    Source: model botocore fsx UpdateFileSystem (StorageType: of FSx for Windows File Server alone)
    Source: model botocore fsx UpdateFileSystemLustreConfiguration (ThroughputCapacity)
    Source: model botocore fsx UpdateFileSystemLustreMetadataConfiguration (Iops)
    Source: assumption service-error-texts
    """
    if params.get("StorageType", record["StorageType"]) != record["StorageType"]:
        raise Rejected("BadRequest", f"StorageType cannot change from {record['StorageType']}.")
    has, requested = record.get("LustreConfiguration", {}), params.get("LustreConfiguration", {})
    metadata, wanted = has.get("MetadataConfiguration", {}), requested.get("MetadataConfiguration", {})
    for name, before, after in (
        ("ThroughputCapacity", has.get("ThroughputCapacity"), requested.get("ThroughputCapacity")),
        ("Metadata IOPS", metadata.get("Iops"), wanted.get("Iops")),
    ):
        if before is not None and after is not None and after < before:
            raise Rejected("BadRequest", f"{name} can only be increased, not changed from {before} to {after}.")


def _check_efa(record: dict[str, Any], params: dict[str, Any]) -> None:
    """Reject another throughput, and sizes that are not multiples of the growth step, for a file system with EFA.

    Source: document https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-throughput-capacity.html (2026-07)
    Source: document https://docs.aws.amazon.com/fsx/latest/LustreGuide/increase-storage-capacity.html (2026-07)
    Source: assumption service-error-texts
    """
    has, requested = record.get("LustreConfiguration", {}), params.get("LustreConfiguration", {})
    throughput = has.get("PerUnitStorageThroughput")
    if not has.get("EfaEnabled") or throughput is None:
        return
    if requested.get("PerUnitStorageThroughput", throughput) != throughput:
        raise Rejected(
            "BadRequest", "The throughput capacity of an EFA-enabled SSD-based file system cannot be modified."
        )
    before, after = record["StorageCapacity"], params.get("StorageCapacity", record["StorageCapacity"])
    step = _EFA_STEPS.get(throughput, 1)
    if after != before and after % step:
        raise Rejected(
            "BadRequest", f"The storage capacity of this EFA-enabled file system must be a multiple of {step} GiB."
        )


def _delete(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    found = file_system(response, params["FileSystemId"])
    NetworkOf(response.current_account, response.region).detach(found.record["NetworkInterfaceIds"])
    del response.fsx_backend.file_systems[found.file_system_id]
    volumes = getattr(response.fsx_backend, "volumes", {})
    for one in [one for one, volume in volumes.items() if volume["FileSystemId"] == found.file_system_id]:
        del volumes[one]
    return {"FileSystemId": found.file_system_id, "Lifecycle": "DELETING"}


def _described(self: Any) -> dict[str, Any]:
    described = known_members("fsx", "FileSystem", self.record)
    return described | {"Tags": self.backend.list_tags_for_resource(self.resource_arn)}
