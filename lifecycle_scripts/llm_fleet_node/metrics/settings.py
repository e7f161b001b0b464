"""What this program is told, in a JSON file that the step `metrics` writes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

CLOUDWATCH, PROMETHEUS = "cloudwatch", "prometheus"


@dataclass(frozen=True)
class Settings:
    """Who this node is, and where what it measures goes."""

    destination: str
    """`cloudwatch` or `prometheus`."""
    region: str
    fleet: str
    cluster: str
    """The dimension `Cluster`: ParallelCluster's name without its hash, so that graphs go on when it changes."""
    group: str
    role: str
    node: str
    """The instance's id, or its host name: the name of its log stream, and its label in Prometheus."""
    instance_type: str
    namespace: str
    log_group: Optional[str]
    remote_write_url: Optional[str]
    seconds: int
    """How many seconds lie between two values."""
    ask_slurm: bool
    """Whether this node tells of the queue."""
    bundle: str = ""
    """Which bundle this program is of."""


def read_settings(path: Path) -> Settings:
    """Return the settings in the file `path`. Raises `OSError`, `ValueError` or `TypeError` when they are broken."""
    return Settings(**json.loads(path.read_text(encoding="utf-8")))


def fingerprint(text: str) -> str:
    """Return what a settings file of this `text` is known by: the status says whose values it tells of."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
