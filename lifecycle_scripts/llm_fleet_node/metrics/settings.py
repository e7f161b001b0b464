"""The settings of this program: a JSON file that the step `metrics` writes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

CLOUDWATCH, PROMETHEUS = "cloudwatch", "prometheus"


@dataclass(frozen=True)
class Settings:
    """The node's identity, and the destination of its metrics."""

    destination: str
    """`cloudwatch` or `prometheus`."""
    region: str
    fleet: str
    cluster: str
    """The dimension `Cluster`: ParallelCluster's name without its hash, so that graphs continue after a change."""
    group: str
    role: str
    node: str
    """The instance's id, or its host name: the name of its log stream, and its label in Prometheus."""
    instance_type: str
    namespace: str
    log_group: Optional[str]
    remote_write_url: Optional[str]
    seconds: int
    """Seconds between two values."""
    ask_slurm: bool
    """Whether this node reports the Slurm queue."""
    bundle: str = ""
    """The bundle of this program."""


def read_settings(path: Path) -> Settings:
    """Return the settings in the file `path`. Raises `OSError`, `ValueError` or `TypeError` if they are not valid."""
    return Settings(**json.loads(path.read_text(encoding="utf-8")))


def fingerprint(text: str) -> str:
    """Return the fingerprint of a settings file with this `text`; the status file contains it."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
