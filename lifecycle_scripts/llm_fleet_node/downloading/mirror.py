"""Downloads files from the mirror in S3 with the AWS CLI, which the platforms' images have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llm_fleet_node.downloading.file_name import file_name
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.manifest_parts import Download
from llm_fleet_node.node import Node

_SECONDS, _BYTES_PER_SECOND = 60.0, 2_000_000
"""Timeout for a file: fixed seconds, and bytes per second."""
_GONE = ("(404)", "NoSuchKey", "NoSuchBucket", "does not exist")
_REFUSED = ("(403)", "AccessDenied", "Forbidden", "Unable to locate credentials", "ExpiredToken", "InvalidAccessKeyId")


def fetch(node: Node, file: Download, part: Path) -> str:
    """Download the file to `part`, not yet verified; return its source. Raises `Failure`."""
    mirror = (node.manifest.downloads.mirror_s3_uri or "").rstrip("/")
    source = f"{mirror}/{file.sha256}/{file_name(file)}"
    aws = node.host.which("aws")
    if aws is None:
        fail(Code.DOWNLOAD_UNREACHABLE, f"{source} requires the AWS CLI, which this node does not have", final=True)
    try:
        node.host.run(
            *(aws, "s3", "cp", source, str(part), "--only-show-errors", "--region", node.manifest.region),
            *("--cli-connect-timeout", "10", "--cli-read-timeout", "60"),
            timeout=_SECONDS + file.size / _BYTES_PER_SECOND,
            env={"AWS_RETRY_MODE": "standard", "AWS_MAX_ATTEMPTS": "3"},
        )
    except CommandFailed as error:
        _explain(source, error)
    return source


def fetch_together(node: Node, files: Sequence[Download], folder: Path) -> None:
    """Download `files` to `folder` as `<sha256>/<name>`, not yet verified. Raises `CommandFailed`.

    With one call: the AWS CLI needs most of a second to start, and downloads ten files in parallel. Files that are
    missing in the mirror are skipped.
    """
    mirror = (node.manifest.downloads.mirror_s3_uri or "").rstrip("/")
    wanted = (("--include", f"{file.sha256}/{file_name(file)}") for file in files)
    node.host.run(
        *("aws", "--region", node.manifest.region, "--cli-connect-timeout", "10", "--cli-read-timeout", "60"),
        *("s3", "cp", f"{mirror}/", str(folder), "--recursive", "--only-show-errors"),
        *("--exclude", "*", *(word for words in wanted for word in words)),
        timeout=_SECONDS + sum(file.size for file in files) / _BYTES_PER_SECOND,
        env={"AWS_RETRY_MODE": "standard", "AWS_MAX_ATTEMPTS": "3"},
    )


def _explain(source: str, error: CommandFailed) -> None:
    said = " ".join(error.output.split()) or error.cause
    if any(sign in said for sign in _GONE):
        fail(Code.DOWNLOAD_NOT_FOUND, f"{source}: {said}", final=True)
    if any(sign in said for sign in _REFUSED):
        fail(Code.DOWNLOAD_DENIED, f"{source}: {said}")
    fail(Code.DOWNLOAD_UNREACHABLE, f"{source}: {said}")
