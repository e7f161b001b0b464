"""FSx volumes, which moto lacks: an OpenZFS file system has a root volume, and child volumes can be created."""

import secrets
import time
from typing import Any

from moto.fsx.responses import FSxResponse

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation, known_members


def install() -> None:
    """Add the volume operations."""
    for operation, handler in (
        ("CreateVolume", _create),
        ("DescribeVolumes", _describe),
        ("UpdateVolume", _update),
        ("DeleteVolume", _delete),
    ):
        install_operation(FSxResponse, "fsx", operation, handler, invalid="BadRequest")


def make_root_volume(response: Any, file_system_id: str, configuration: dict[str, Any]) -> str:
    """Create the root volume of an OpenZFS file system; return its id."""
    record = _record(response, file_system_id, "fsx", {"VolumePath": "/fsx", **configuration})
    return str(record["VolumeId"])


def _volumes(response: Any) -> dict[str, dict[str, Any]]:
    return response.fsx_backend.__dict__.setdefault("volumes", {})


def _record(response: Any, file_system_id: str, name: str, configuration: dict[str, Any]) -> dict[str, Any]:
    volume_id = f"fsvol-{secrets.token_hex(8)}0"
    arn = f"arn:aws:fsx:{response.region}:{response.current_account}:volume/{file_system_id}/{volume_id}"
    record = {
        "CreationTime": time.time(),
        "FileSystemId": file_system_id,
        "Lifecycle": "AVAILABLE",
        "Name": name,
        "ResourceARN": arn,
        "VolumeId": volume_id,
        "VolumeType": "OPENZFS",
        "OpenZFSConfiguration": configuration,
    }
    _volumes(response)[volume_id] = record
    return record


def _create(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    if params["VolumeType"] != "OPENZFS":
        # Source: emulation, it supports OpenZFS volumes only
        raise Rejected(
            "UnsupportedOperation", f"the AWS emulator supports only OPENZFS volumes, not {params['VolumeType']}"
        )
    requested = params.get("OpenZFSConfiguration")
    if requested is None:
        # Source: model botocore fsx MissingVolumeConfiguration
        # Source: assumption service-error-texts
        raise Rejected("MissingVolumeConfiguration", "OpenZFSConfiguration is required")
    parent = _volume(response, requested["ParentVolumeId"])
    path = f"{parent['OpenZFSConfiguration']['VolumePath']}/{params['Name']}"
    record = _record(response, parent["FileSystemId"], params["Name"], {**requested, "VolumePath": path})
    response.fsx_backend.tag_resource(
        record["ResourceARN"], {one["Key"]: one["Value"] for one in params.get("Tags", ())}
    )
    return {"Volume": _described(response, record)}


def _describe(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("VolumeIds") or list(_volumes(response))
    return {"Volumes": [_described(response, _volume(response, one)) for one in wanted]}


def _update(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    record = _volume(response, params["VolumeId"])
    record["Name"] = params.get("Name", record["Name"])
    record["OpenZFSConfiguration"] |= params.get("OpenZFSConfiguration", {})
    return {"Volume": _described(response, record)}


def _delete(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    volume_id = _volume(response, params["VolumeId"])["VolumeId"]
    children = [
        one for one in _volumes(response).values() if one["OpenZFSConfiguration"].get("ParentVolumeId") == volume_id
    ]
    if children and "DELETE_CHILD_VOLUMES_AND_SNAPSHOTS" not in params.get("OpenZFSConfiguration", {}).get(
        "Options", ()
    ):
        # Source: model botocore fsx DeleteVolumeOpenZFSConfiguration
        # Source: assumption fsx-refusals
        raise Rejected("BadRequest", f"volume {volume_id} has child volumes")
    del _volumes(response)[volume_id]
    return {"VolumeId": volume_id, "Lifecycle": "DELETING"}


def _volume(response: Any, volume_id: str) -> dict[str, Any]:
    if volume_id not in _volumes(response):
        # Source: model botocore fsx VolumeNotFound
        # Source: assumption service-error-texts
        raise Rejected("VolumeNotFound", f"Volume '{volume_id}' does not exist.")
    return _volumes(response)[volume_id]


def _described(response: Any, record: dict[str, Any]) -> dict[str, Any]:
    described = known_members("fsx", "Volume", record)
    return described | {"Tags": response.fsx_backend.list_tags_for_resource(record["ResourceARN"])}
