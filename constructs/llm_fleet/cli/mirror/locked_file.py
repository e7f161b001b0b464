"""Pinned files, and the directory or bucket of the mirror."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from llm_fleet.cli.verb import is_of_aws, refuse
from llm_fleet.named_files.named_file import lock_problems, locked_files
from llm_fleet.rules.codes import Code
from llm_fleet.rules.downloads_lock import check_lock, check_mirror_place, mirror_key, split_s3_uri
from llm_fleet.rules.problem import raise_problems

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedFile:
    """One pinned file. Its fields are those of `downloads.files` in `fleet.json`."""

    name: str
    version: str
    kind: str
    """`deb`, `rpm`, `wheel` or `archive`."""
    system: str | None
    """E.g. `ubuntu-24.04-amd64`; `None` for any."""
    url: str
    sha256: str
    size: int
    requires: tuple[str, ...] = ()
    """Names of the other files that it depends on."""

    @property
    def key(self) -> str:
        """Key in the mirror."""
        return mirror_key(self.url, self.sha256)

    def __str__(self) -> str:
        return f"{self.name} {self.version}" + (f" for {self.system}" if self.system else "")


def read_lock(path: Path) -> list[LockedFile]:
    """Return the files of the lock file at `path`. Raises `FleetError` if it is missing or invalid."""
    raise_problems(lock_problems(path), subject=str(path))
    entries: list[dict[str, Any]] = [entry | {"requires": tuple(entry["requires"])} for entry in locked_files(path)]
    return [LockedFile(**entry) for entry in entries]


def lock_text(files: list[LockedFile]) -> str:
    """Return the text of the lock file, equal for equal files. Raises `FleetError` on contradictions."""
    ordered = sorted(files, key=lambda file: (file.system or "", file.name, file.version))
    entries = [{**asdict(file), "requires": sorted(file.requires)} for file in ordered]
    document: dict[str, Any] = {"schema_version": _VERSION, "files": entries}
    raise_problems(check_lock(document), subject="the new lock file")
    return json.dumps(document, indent=2) + "\n"


_BLOCK = 1 << 20


class Store(Protocol):
    """Storage of a mirror."""

    def sizes(self) -> Mapping[str, int]:
        """Return the size of each object in bytes, by key."""
        ...

    def put(self, key: str, file: Path) -> None:
        """Store `file` as `key` atomically."""
        ...

    def sha256(self, key: str) -> str:
        """Return the SHA-256 of the object's content."""
        ...


def open_store(place: str, region: str | None) -> Store:
    """Return the store at `place`, a directory or `s3://bucket/prefix`. Raises `FleetError`."""
    raise_problems(check_mirror_place(place), subject="the mirror")
    s3 = split_s3_uri(place)
    return S3Store(*s3, region=region) if s3 else FolderStore(Path(place))


class FolderStore:
    """A mirror in a directory."""

    def __init__(self, folder: Path) -> None:
        """`folder` need not exist."""
        self._folder = folder

    def sizes(self) -> Mapping[str, int]:
        """Return the size of each file in bytes, by its path."""
        found = self._folder.glob("*/*")
        return {f"{path.parent.name}/{path.name}": path.stat().st_size for path in found if path.is_file()}

    def put(self, key: str, file: Path) -> None:
        """Copy `file` to a temporary name, then rename it."""
        target = self._folder / key
        with _errors_reported(self._folder):
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, draft = tempfile.mkstemp(dir=target.parent.parent, prefix=".llm-fleet-")
            os.close(handle)
            try:
                shutil.copyfile(file, draft)
                os.chmod(draft, 0o644)
                os.replace(draft, target)
            finally:
                Path(draft).unlink(missing_ok=True)

    def sha256(self, key: str) -> str:
        """Read the file."""
        with _errors_reported(self._folder), (self._folder / key).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


class S3Store:
    """A mirror in a bucket."""

    def __init__(self, bucket: str, prefix: str, *, region: str | None) -> None:
        """Create a client with this machine's credentials. Raises `FleetError` without boto3."""
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._client = _client(region)

    def sizes(self) -> Mapping[str, int]:
        """List the objects below the prefix."""
        with _errors_reported(f"s3://{self._bucket}"):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
            return {
                item.get("Key", "").removeprefix(self._prefix): item.get("Size", 0)
                for page in pages
                for item in page.get("Contents", [])
            }

    def put(self, key: str, file: Path) -> None:
        """Upload `file`, in parts if it is large; S3 verifies it, and shows it when it is complete."""
        with _errors_reported(f"s3://{self._bucket}"):
            self._client.upload_file(
                str(file), self._bucket, self._prefix + key, ExtraArgs={"ChecksumAlgorithm": "SHA256"}
            )

    def sha256(self, key: str) -> str:
        """Read the object."""
        digest = hashlib.sha256()
        with _errors_reported(f"s3://{self._bucket}"):
            body = self._client.get_object(Bucket=self._bucket, Key=self._prefix + key)["Body"]
            for block in body.iter_chunks(_BLOCK):
                digest.update(block)
        return digest.hexdigest()


def _client(region: str | None) -> "S3Client":
    try:
        import boto3
    except ImportError:
        remedy = "run `pip install 'llm-fleet[mirror]'`, or `pip install boto3`"
        refuse(Code.MIRROR_STORE, "a mirror in S3 requires boto3, which is not installed", remedy)
    with _errors_reported("S3"):
        return boto3.client("s3", region_name=region)


@contextmanager
def _errors_reported(place: object) -> Generator[None]:
    """Raise errors of the disk or of S3 as `FleetError`."""
    try:
        yield
    except OSError as error:
        refuse(Code.MIRROR_STORE, f"{place}: {error.strerror or error}", "free disk space, or choose another directory")
    except Exception as error:
        if not is_of_aws(error):
            raise
        remedy = "check that your credentials can list, read and write the bucket, and that it is in the Region"
        refuse(Code.MIRROR_STORE, f"{place}: {error}", remedy)
