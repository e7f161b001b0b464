"""The interface of sources of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Protocol

from llm_fleet_training.weights.entries import Entry


class Source(Protocol):
    """The Hub, a place in S3, or a folder."""

    place: str
    """Text for messages and the marker."""

    def entries(self) -> List[Entry]:
        """List all files. Raises `Failure` when the source cannot be read."""
        ...

    def fetch(self, chosen: List[Entry], folder: Path) -> None:
        """Download the chosen files into `folder`, except those that a killed run has downloaded already."""
        ...

    def identity(self) -> Dict[str, Any]:
        """Identity of the weights, for the marker; available after `entries`."""
        ...
