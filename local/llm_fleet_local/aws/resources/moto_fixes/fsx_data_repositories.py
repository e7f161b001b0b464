"""FSx data repository associations, which moto lacks: stored, checked against file system and S3; no data is copied."""

import secrets
import time
from typing import Any

from moto.fsx.responses import FSxResponse
from moto.s3.models import s3_backends

from llm_fleet_local.aws.resources.moto_fixes.fsx_file_systems import file_system
from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation, known_members

_WITHOUT = ("SCRATCH_1",)
_MOST = 8
"""Maximum number of associations of a file system."""


def install() -> None:
    """Add the operations of data repository associations."""
    for operation, handler in (
        ("CreateDataRepositoryAssociation", _create),
        ("DescribeDataRepositoryAssociations", _describe),
        ("UpdateDataRepositoryAssociation", _update),
        ("DeleteDataRepositoryAssociation", _delete),
    ):
        install_operation(FSxResponse, "fsx", operation, handler, invalid="BadRequest")


def _all(response: Any) -> dict[str, dict[str, Any]]:
    return response.fsx_backend.__dict__.setdefault("data_repositories", {})


def _create(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    target = file_system(response, params["FileSystemId"])
    _check_target(response, target, params)
    _check_bucket(response, params["DataRepositoryPath"])
    association_id = f"dra-{secrets.token_hex(8)}0"
    owner = f"{response.region}:{response.current_account}"
    arn = f"arn:aws:fsx:{owner}:association/{params['FileSystemId']}/{association_id}"
    record = {name: value for name, value in params.items() if name not in ("ClientRequestToken", "Tags")} | {
        "AssociationId": association_id,
        "ResourceARN": arn,
        "Lifecycle": "AVAILABLE",
        "CreationTime": time.time(),
    }
    _all(response)[association_id] = record
    response.fsx_backend.tag_resource(arn, {one["Key"]: one["Value"] for one in params.get("Tags", ())})
    return {"Association": _described(response, record)}


def _check_target(response: Any, target: Any, params: dict[str, Any]) -> None:
    """Reject a file system that supports no associations or has too many, and a path that overlaps another one.

    Source: model botocore fsx CreateDataRepositoryAssociation
    Source: model botocore fsx CreateDataRepositoryAssociationRequest (FileSystemPath)
    Source: assumption service-error-texts
    """
    lustre = target.record.get("LustreConfiguration")
    if lustre is None or lustre.get("DeploymentType") in _WITHOUT:
        raise Rejected("UnsupportedOperation", f"{target.file_system_id} does not support data repository associations")
    others = [one for one in _all(response).values() if one["FileSystemId"] == target.file_system_id]
    if len(others) >= _MOST:
        raise Rejected("ServiceLimitExceeded", f"{target.file_system_id} already has {_MOST} associations, the maximum")
    path = params.get("FileSystemPath", "/").rstrip("/") + "/"
    for other in others:
        taken = other.get("FileSystemPath", "/").rstrip("/") + "/"
        if path.startswith(taken) or taken.startswith(path):
            raise Rejected("BadRequest", f"file system path {path} overlaps {taken} of {other['AssociationId']}")


def _check_bucket(response: Any, path: str) -> None:
    bucket = path.removeprefix("s3://").split("/", 1)[0]
    partition = "aws"
    if bucket not in s3_backends[response.current_account][partition].buckets:
        # Source: assumption fsx-refusals
        raise Rejected("BadRequest", f"the bucket of {path} does not exist")


def _describe(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("AssociationIds") or list(_all(response))
    found = [_one(response, one) for one in wanted]
    for test in params.get("Filters", ()):
        if test["Name"] == "file-system-id":
            found = [one for one in found if one["FileSystemId"] in test["Values"]]
    return {"Associations": [_described(response, one) for one in found]}


def _update(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    record = _one(response, params["AssociationId"])
    record |= {name: value for name, value in params.items() if name not in ("ClientRequestToken", "AssociationId")}
    return {"Association": _described(response, record)}


def _delete(response: Any, params: dict[str, Any]) -> dict[str, Any]:
    association_id = _one(response, params["AssociationId"])["AssociationId"]
    del _all(response)[association_id]
    return {"AssociationId": association_id, "Lifecycle": "DELETING"}


def _one(response: Any, association_id: str) -> dict[str, Any]:
    if association_id not in _all(response):
        # Source: model botocore fsx DataRepositoryAssociationNotFound
        # Source: assumption service-error-texts
        raise Rejected("DataRepositoryAssociationNotFound", f"'{association_id}' does not exist.")
    return _all(response)[association_id]


def _described(response: Any, record: dict[str, Any]) -> dict[str, Any]:
    described = known_members("fsx", "DataRepositoryAssociation", record)
    return described | {"Tags": response.fsx_backend.list_tags_for_resource(record["ResourceARN"])}
