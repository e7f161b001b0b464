"""The S3 prefix from which a service serves a model."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Dict, List, Optional, cast

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.serving.check import MARKER, Files
from llm_fleet_training.weights import aws
from llm_fleet_training.weights.entries import sha256_of

FINGERPRINT = "fingerprint"


class Place(Files):
    """Objects below the prefix, with the interface of the service's check; read with the AWS CLI."""

    def __init__(self, address: str) -> None:
        """`address`: `s3://bucket/prefix`. LFJ32 when it is not an S3 address, or a whole bucket."""
        _, prefix = aws.split(address)
        if not prefix:
            fail(Code.MODEL_NOT_FOUND, f"{address} is a whole bucket: set a prefix, s3://<bucket>/<prefix>")
        self.place = address.rstrip("/")
        self.sizes: Dict[str, int] = {}
        self.look()

    def look(self) -> None:
        """List the objects again."""
        self.sizes = {entry.path: entry.size for entry in aws.listed(self.place)}

    def names(self) -> List[str]:
        """Return the paths of all objects of the last listing."""
        return list(self.sizes)

    def read(self, name: str) -> bytes:
        """Return the bytes of an object."""
        return aws.read(f"{self.place}/{name}")

    def marker(self) -> Optional[Dict[str, Any]]:
        """The marker of the model there; None when there is none, LFJ39 when it cannot be read."""
        if MARKER not in self.sizes:
            return None
        try:
            said: Any = json.loads(self.read(MARKER))
        except ValueError as error:
            fail(Code.PREFIX_NOT_EMPTY, f"{self.place}/{MARKER} cannot be read: {error}")
        return cast("Dict[str, Any]", said) if isinstance(said, dict) else {}

    def remove(self, name: str) -> None:
        """Delete one object."""
        aws.remove(f"{self.place}/{name}")
        self.sizes.pop(name, None)


class Offered:
    """A model's files on the disk, without the notes that are not uploaded."""

    def __init__(self, folder: Path, *, without: List[str]) -> None:
        """Reads all files once, for the fingerprint."""
        self.folder = folder
        self.files: Dict[str, int] = {}
        digest = hashlib.sha256()
        for path in sorted(_below(folder)):
            name = path.relative_to(folder).as_posix()
            if name not in without and name != MARKER:
                self.files[name] = path.stat().st_size
                digest.update(f"{sha256_of(path)}  {name}\n".encode())
        self.fingerprint = digest.hexdigest()
        """SHA-256 over the names and SHA-256 of its files."""


def _below(folder: Path) -> List[Path]:
    return [Path(root, name) for root, _, names in os.walk(folder) for name in names]
