"""CloudFormation's requests in, answers out; and the bundle: out of the asset's archive, checked, into the bucket."""

import base64
import hashlib
import io
import json
import logging
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from .response import Answer, send

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_T = TypeVar("_T")
MANIFEST = "fleet.json"
CHECKSUMS = "SHA256SUMS"
POINTER = "current"
_DIGEST_LENGTH = 16
_DENIED = ("AccessDenied", "403")
_POLICY_DELAYS = (1, 2, 4, 8, 15)
"""Seconds to wait for a changed policy to reach all of S3."""
_AT_ONCE = 8
"""Objects written at the same time: a bundle has some hundred small ones. A client of boto3 keeps 10 connections."""


class PublishError(Exception):
    """The bundle cannot be published; the text goes into the stack's events."""


@dataclass(frozen=True)
class Request:
    """The files to publish, and their destination."""

    source_bucket: str
    source_key: str
    bucket: str
    root: str
    content_hash: str
    checksums_sha256: str
    manifest: dict[str, Any]
    entry: str | None = None
    """Script of the bundle that is also stored at a key that never changes, next to the pointer; `None` for neither."""

    @classmethod
    def read(cls, properties: dict[str, Any]) -> "Request":
        """Return the request in a resource's `properties`. Raises `PublishError` when one is missing or unreadable."""
        try:
            manifest = json.loads(properties["Manifest"])
            texts = {name: str(properties[name]) for name in _PROPERTIES}
        except KeyError as error:
            raise PublishError(f"the request lacks the property {error}") from error
        except ValueError as error:
            raise PublishError(f"a value that was filled in at deploy time broke the manifest: {error}") from error
        fields = {field: texts[name] for name, field in _PROPERTIES.items()}
        return cls(manifest=manifest, entry=properties.get("Entry"), **fields)

    @property
    def prefix(self) -> str:
        """The prefix of this very bundle: it changes with a script, and with a value known only at deploy time."""
        values = hashlib.sha256(self.manifest_text.encode()).hexdigest()
        return f"{self.root}/{self.content_hash[:_DIGEST_LENGTH]}-{values[:_DIGEST_LENGTH]}"

    @property
    def manifest_text(self) -> str:
        """The manifest with its values, as nodes read it."""
        return json.dumps(self.manifest, indent=2, sort_keys=True) + "\n"


_PROPERTIES = {
    "SourceBucket": "source_bucket",
    "SourceKey": "source_key",
    "Bucket": "bucket",
    "Root": "root",
    "ContentHash": "content_hash",
    "ChecksumsSha256": "checksums_sha256",
}


@dataclass(frozen=True)
class Published:
    """The objects in the bucket."""

    prefix: str
    """Of the bundle, without a slash at its end."""
    checksums_sha256: str
    """SHA-256 of its list of checksums, in hex: it covers the whole bundle."""


def publish(s3: "S3Client", request: Request) -> Published:
    """Put the bundle in its bucket. Doing it again writes the same objects once more.

    The manifest comes last: a prefix with `fleet.json` is a whole bundle. Where nodes begin at keys that never change,
    these are written after it, the pointer at the very end: a node that reads it finds the bundle.
    """
    files = _unpack(_fetch(s3, request))
    sums = _checksums(files)
    if _sha256(sums) != request.checksums_sha256:
        raise PublishError(
            f"the scripts in s3://{request.source_bucket}/{request.source_key} are not those that were synthesized: "
            f"their list has SHA-256 {_sha256(sums)}, expected "
            f"{request.checksums_sha256}; deploy again from a clean cdk.out"
        )
    manifest = request.manifest_text.encode()
    files[CHECKSUMS] = sums + f"{_sha256(manifest)}  {MANIFEST}\n".encode()
    if request.entry is not None and request.entry not in files:
        raise PublishError(f"the scripts lack {request.entry}, which nodes run first")
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # the first failure cancels what has not begun
        list(pool.map(partial(_put, s3, request), [f"{request.prefix}/{path}" for path in files], files.values()))
    _put(s3, request, f"{request.prefix}/{MANIFEST}", manifest)
    published = Published(request.prefix, _sha256(files[CHECKSUMS]))
    if request.entry is not None:
        _put(s3, request, f"{request.root}/{request.entry}", files[request.entry])
        _put(s3, request, f"{request.root}/{POINTER}", _pointer(request, published))
    return published


def _pointer(request: Request, published: Published) -> bytes:
    """Return the one line that `on_node_configured.sh` reads: where the bundle is, and the digest that it must have."""
    return f"s3://{request.bucket}/{published.prefix} {published.checksums_sha256}\n".encode()


def _fetch(s3: "S3Client", request: Request) -> bytes:
    where = f"s3://{request.source_bucket}/{request.source_key}"
    return _patiently(
        f"cannot read the archive of scripts at {where}",
        lambda: s3.get_object(Bucket=request.source_bucket, Key=request.source_key)["Body"].read(),
    )


def _patiently(failure: str, call: Callable[[], _T]) -> _T:
    """Return what `call` does. Right after an update of the policy, S3 and KMS may still deny what it already allows.

    Raises `PublishError` that begins with `failure`.
    """
    for delay in (*_POLICY_DELAYS, None):
        try:
            return call()
        except ClientError as error:
            if delay is None or error.response.get("Error", {}).get("Code") not in _DENIED:
                raise PublishError(f"{failure}: {_cause(error)}") from error
            time.sleep(delay)
    raise AssertionError("the last attempt returns or raises")


def _unpack(archive: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            return {name: opened.read(name) for name in opened.namelist() if not name.endswith("/")}
    except zipfile.BadZipFile as error:
        raise PublishError(f"the archive of scripts cannot be unpacked: {error}") from error


def _checksums(files: dict[str, bytes]) -> bytes:
    """Return the list that synth made of the same files: `sha256sum`'s form, in the order of paths."""
    return "".join(f"{_sha256(data)}  {path}\n" for path, data in sorted(files.items())).encode()


def _put(s3: "S3Client", request: Request, key: str, data: bytes) -> None:
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    _patiently(
        f"cannot write s3://{request.bucket}/{key}",
        # S3 compares what arrived with the checksum and rejects what differs.
        lambda: s3.put_object(Bucket=request.bucket, Key=key, Body=data, ChecksumSHA256=digest),
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _cause(error: ClientError) -> str:
    details = error.response.get("Error", {})
    return f"{details.get('Code', 'unknown')}: {details.get('Message', error)}"


_LOG = logging.getLogger(__name__)
_LOG.setLevel(logging.INFO)
# Well below the function's own timeout, so that a failure is always answered.
_CLIENT = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 3, "mode": "standard"})


def handler(event: dict[str, Any], context: object) -> None:
    """Serve one request of CloudFormation and answer it, whatever happens."""
    answer = _serve(event)
    _LOG.info("%s %s: %s", event["RequestType"], answer.physical_id, answer.failure or "done")
    send(event, answer)


def _serve(event: dict[str, Any]) -> Answer:
    properties = event.get("ResourceProperties", {})
    physical_id = f"s3://{properties.get('Bucket')}/{properties.get('Root')}"
    if event["RequestType"] == "Delete":
        # Objects stay: nodes of a running cluster may start from them, and an old bundle can be put back.
        return Answer(physical_id=event.get("PhysicalResourceId", physical_id))
    try:
        request = Request.read(properties)
        published = publish(boto3.client("s3", config=_CLIENT), request)
    except PublishError as error:
        return Answer(physical_id=physical_id, failure=str(error))
    except Exception as error:  # CloudFormation waits an hour for an answer that never comes.
        _LOG.exception("not foreseen")
        return Answer(physical_id=physical_id, failure=f"{type(error).__name__}: {error}")
    return Answer(physical_id=physical_id, data=_data(request, published))


def _data(request: Request, published: Published) -> dict[str, str]:
    """Return the attributes that templates may ask for."""
    data = {
        "SourceS3Uri": f"s3://{request.bucket}/{published.prefix}/",
        "Prefix": published.prefix,
        "ContentHash": request.content_hash,
        "ChecksumsSha256": published.checksums_sha256,
    }
    if request.entry is not None:
        root = f"s3://{request.bucket}/{request.root}"
        data |= {"EntryS3Uri": f"{root}/{request.entry}", "PointerS3Uri": f"{root}/{POINTER}"}
    return data
