"""Uploads file assets."""

import io
import zipfile
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from llm_fleet_local.aws.assembly.manifest import FileAsset

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The oldest time in a zip file; constant, so that equal content gives equal bytes."""


def upload(asset: FileAsset, s3: Any) -> bool:
    """Upload an asset unless it exists; return whether it was uploaded. Raises `ClientError` without the bucket."""
    try:
        s3.head_object(Bucket=asset.bucket, Key=asset.key)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") not in ("404", "NoSuchKey", "NotFound"):
            raise
    else:
        return False
    body = zip_directory(asset.path) if asset.zipped else asset.path.read_bytes()
    s3.put_object(Bucket=asset.bucket, Key=asset.key, Body=body)
    return True


def zip_directory(directory: Path) -> bytes:
    """Return a zip file of a directory, with file modes and without times."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(item for item in directory.rglob("*") if item.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(directory).as_posix(), date_time=_FIRST_DAY)
            entry.external_attr = path.stat().st_mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()
