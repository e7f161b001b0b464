"""Fetches the bundle from its bucket, and verifies that it is the one that the cluster construct published."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlparse

MANIFEST, CHECKSUMS = "fleet.json", "SHA256SUMS"


class WrongBundle(Exception):
    """The content of the bucket differs from the synthesized files."""


@dataclass(frozen=True)
class Bundle:
    """All files of a bundle, and their source."""

    bucket: str
    prefix: str
    """Without a slash at either end."""
    files: dict[str, bytes]
    """By path below the prefix."""

    @property
    def manifest(self) -> dict[str, Any]:
        """The content of `fleet.json`."""
        return json.loads(self.files[MANIFEST])

    @property
    def content_hash(self) -> str:
        """The hash of scripts and manifest that is part of the prefix, in hex."""
        return str(self.manifest["content_hash"])

    @property
    def folder(self) -> str:
        """The folder to which HyperPod copies the bundle on a node.

        Source: assumption hyperpod-agent-files
        """
        return f"/tmp/{self.bucket}/{self.prefix}"  # noqa: S108 - the platform's place, not ours


def fetch(s3: Any, source_s3_uri: str) -> Bundle:
    """Copy the files below `source_s3_uri`, as HyperPod does before it runs a script.

    Source: model botocore sagemaker ClusterLifeCycleConfig
    """
    place = urlparse(source_s3_uri)
    prefix = place.path.strip("/")
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=place.netloc, Prefix=f"{prefix}/")
    keys = [str(item["Key"]) for page in pages for item in page.get("Contents", [])]
    files = {key[len(prefix) + 1 :]: s3.get_object(Bucket=place.netloc, Key=key)["Body"].read() for key in keys}
    return Bundle(bucket=place.netloc, prefix=prefix, files=files)


def prove(bundle: Bundle, synthesized_hash: str) -> list[str]:
    """Return the results of checks that `bundle` is the synthesized one. Raises `WrongBundle` when it is not.

    `synthesized_hash`: the content hash that the cluster construct wrote into its template.
    """
    listed = _listed(bundle)
    for path, digest in listed.items():
        _same(f"{path} of the bundle", sha256(bundle.files.get(path, b"")), digest)
    _same(
        "the list of the bundle's files", ", ".join(sorted(listed)), ", ".join(sorted(set(bundle.files) - {CHECKSUMS}))
    )
    scripts = "".join(f"{digest}  {path}\n" for path, digest in sorted(listed.items()) if path != MANIFEST)
    _same("the scripts named by fleet.json", str(bundle.manifest["scripts_sha256"]), sha256(scripts.encode()))
    _same("the content hash in fleet.json", bundle.content_hash, synthesized_hash)
    name = f"{bundle.content_hash[:16]}-{sha256(bundle.files[MANIFEST])[:16]}"
    _same("the prefix in the bucket", bundle.prefix.rsplit("/", 1)[-1], name)
    return [
        f"s3://{bundle.bucket}/{bundle.prefix}/ holds {len(bundle.files)} files, each as it was published",
        f"content hash in the template, in fleet.json and in the prefix: {bundle.content_hash}",
    ]


def _listed(bundle: Bundle) -> dict[str, str]:
    lines = bundle.files.get(CHECKSUMS, b"").decode().splitlines()
    return {path: digest for digest, _, path in (line.partition("  ") for line in lines)}


def _same(what: str, found: str, expected: str) -> None:
    if found != expected:
        raise WrongBundle(f"{what}: found {found}, expected {expected}")


def sha256(data: bytes) -> str:
    """Return the SHA-256 of `data` in hex."""
    return hashlib.sha256(data).hexdigest()
