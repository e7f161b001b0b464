"""Where a pinned file lies in a mirror. Nodes reckon the same: `llm_fleet_node/downloading/file_name.py`."""

import re
from urllib.parse import unquote

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

_S3 = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")


def mirror_key(url: str, sha256: str) -> str:
    """Return the file's key below the mirror's prefix: its checksum, so that none takes another's place; its name."""
    name = url.split("?")[0].split("#")[0].rstrip("/").rsplit("/", 1)[-1]
    return f"{sha256}/{unquote(name).replace('/', '_')}"


def split_s3_uri(uri: str) -> tuple[str, str] | None:
    """Return bucket and prefix (without slash at its end) of `s3://bucket/prefix`; `None` for anything else."""
    match = _S3.fullmatch(uri)
    return (match["bucket"], (match["prefix"] or "").strip("/")) if match else None


def check_mirror_place(place: str) -> list[Problem]:
    """Check that `place` is a folder or `s3://bucket/prefix`."""
    if split_s3_uri(place) or (place and "://" not in place and not place.startswith("s3:")):
        return []
    return [
        Problem(
            code=Code.MIRROR_PLACE,
            message="a mirror is a folder, or a bucket with a prefix",
            remedy="write a path, or s3://bucket/prefix",
            value=place,
        )
    ]
