"""Where a model can come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Protocol

from llm_fleet_training.weights.entries import Entry


class Source(Protocol):
    """The Hub, a place in S3, or a folder."""

    place: str
    """In words, for messages and the marker."""

    def entries(self) -> List[Entry]:
        """Every file that is there. Raises `Failure` when it cannot be looked at."""
        ...

    def fetch(self, chosen: List[Entry], folder: Path) -> None:
        """Bring the chosen files into `folder`; what a killed run has brought already is not brought again."""
        ...

    def identity(self) -> Dict[str, Any]:
        """What names these very weights, for the marker; known after `entries`."""
        ...
