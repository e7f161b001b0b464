"""The place in S3 that a service serves a model from."""

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
    """Its objects, as the service's check reads files: by AWS's command line."""

    def __init__(self, address: str) -> None:
        """`address`: `s3://bucket/prefix`. LFJ32 when it is none, or a whole bucket."""
        _, prefix = aws.split(address)
        if not prefix:
            fail(Code.NOT_THERE, f"{address} is a whole bucket: name a prefix, s3://<bucket>/<prefix>")
        self.place = address.rstrip("/")
        self.sizes: Dict[str, int] = {}
        self.look()

    def look(self) -> None:
        """Ask S3 what is there now."""
        self.sizes = {entry.path: entry.size for entry in aws.listed(self.place)}

    def names(self) -> List[str]:
        """Return the paths of all objects below it, as they were when it was looked at."""
        return list(self.sizes)

    def read(self, name: str) -> bytes:
        """Return the bytes of one."""
        return aws.read(f"{self.place}/{name}")

    def marker(self) -> Optional[Dict[str, Any]]:
        """What is said of the model there; None when nothing is, LFJ39 when it cannot be read."""
        if MARKER not in self.sizes:
            return None
        try:
            said: Any = json.loads(self.read(MARKER))
        except ValueError as error:
            fail(Code.PLACE_TAKEN, f"{self.place}/{MARKER} cannot be read: {error}")
        return cast("Dict[str, Any]", said) if isinstance(said, dict) else {}

    def remove(self, name: str) -> None:
        """Delete one object."""
        aws.remove(f"{self.place}/{name}")
        self.sizes.pop(name, None)


class Offered:
    """A model's files on the disk, without the notes that stay there."""

    def __init__(self, folder: Path, *, without: List[str]) -> None:
        """Reads all of it once, for the fingerprint."""
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
