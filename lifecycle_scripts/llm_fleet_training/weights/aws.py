"""Runs the AWS CLI; errors contain its last lines, but never a secret."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, List, NoReturn, Optional, Sequence, Tuple

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.weights.entries import Entry

_NOT_THERE = ("NoSuchBucket", "NoSuchKey", "(404)", "ResourceNotFoundException")


def split(address: str) -> Tuple[str, str]:
    """Bucket and prefix (without `/` at its ends) of an `s3://` address; LFJ32 when it is not one."""
    bucket, _, prefix = address[len("s3://") :].partition("/")
    if not address.startswith("s3://") or not bucket:
        fail(Code.MODEL_NOT_FOUND, f"{address!r} is not an S3 address; write s3://<bucket>/<prefix>")
    return bucket, prefix.strip("/")


def listed(address: str) -> List[Entry]:
    """Every object below an address, by the path below it."""
    bucket, prefix = split(address)
    below = f"{prefix}/" if prefix else ""
    words = ["s3api", "list-objects-v2", "--bucket", bucket, "--prefix", below, "--output", "json"]
    said = run(words).strip()
    document: Any = json.loads(said) if said else {}
    objects: List[Any] = document.get("Contents") or []
    found = [Entry(path=str(each["Key"])[len(below) :], size=int(each["Size"])) for each in objects]
    return [entry for entry in found if entry.path and not entry.path.endswith("/")]


def copy(source: str, target: str) -> None:
    """Copy one file between S3 and the disk; the AWS CLI retries, and leaves no incomplete file under the name."""
    run(["s3", "cp", "--no-progress", "--only-show-errors", source, target])


def copy_all(folder: str, address: str, *, but: Sequence[str]) -> None:
    """Copy a folder to S3, except some of its files."""
    left = [word for name in but for word in ("--exclude", name)]
    run(["s3", "cp", "--recursive", "--no-progress", "--only-show-errors", *left, folder, address])


def read(address: str) -> bytes:
    """The bytes of a small object."""
    return run_bytes(["s3", "cp", "--only-show-errors", address, "-"])


def remove(address: str) -> None:
    """Delete one object; a missing object is not an error."""
    run(["s3", "rm", "--only-show-errors", address])


def secret(arn: str) -> str:
    """The text of a secret in Secrets Manager. It is read from a pipe and is in no log or process list."""
    parts = arn.split(":")
    region = ["--region", parts[3]] if len(parts) > 6 and parts[3] else []
    words = ["secretsmanager", "get-secret-value", "--secret-id", arn, *region]
    return run([*words, "--query", "SecretString", "--output", "text"], code=Code.HUB_TOKEN).strip()


def run(words: Sequence[str], *, code: Optional[Code] = None) -> str:
    """`run_bytes`, decoded as text."""
    return run_bytes(words, code=code).decode("utf-8", "replace")


def run_bytes(words: Sequence[str], *, code: Optional[Code] = None) -> bytes:
    """The output of `aws <words>`; LFJ33 (or `code`) with its last lines when it fails."""
    environment = {**os.environ, "AWS_PAGER": ""}
    try:
        ended = subprocess.run(
            ["aws", *words], capture_output=True, check=False, stdin=subprocess.DEVNULL, env=environment
        )
    except OSError as error:
        fail(code or Code.SOURCE_UNREACHABLE, f"the AWS CLI cannot be started: aws: {error.strerror}")
    if ended.returncode:
        _fail(words, ended.stderr.decode("utf-8", "replace"), code)
    return ended.stdout


def _fail(words: Sequence[str], said: str, code: Optional[Code]) -> NoReturn:
    lines = [line for line in said.splitlines() if line.strip()] or ["it printed nothing"]
    missing = any(sign in said for sign in _NOT_THERE)
    chosen = code or (Code.MODEL_NOT_FOUND if missing else Code.SOURCE_UNREACHABLE)
    fail(chosen, f"`aws {' '.join(words)}` failed: {' '.join(lines[-2:])}")
