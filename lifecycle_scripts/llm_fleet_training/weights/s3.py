"""A model below a prefix of S3."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.weights import aws
from llm_fleet_training.weights.entries import Entry


class S3Prefix:
    """Read by AWS's command line, with the rights of the node's role."""

    def __init__(self, address: str) -> None:
        """`address`: `s3://bucket/prefix`."""
        aws.split(address)
        self.place = address.rstrip("/")

    def entries(self) -> List[Entry]:
        """Its objects; LFJ32 when there are none."""
        found = aws.listed(self.place)
        if not found:
            fail(Code.NOT_THERE, f"there is nothing at {self.place}/")
        return found

    def fetch(self, chosen: List[Entry], folder: Path) -> None:
        """One object after the other, each in parts side by side; a name means a whole file."""
        for entry in chosen:
            target = folder / entry.path
            if target.is_file() and target.stat().st_size == entry.size:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f".{target.name}.incomplete")
            aws.copy(f"{self.place}/{entry.path}", str(draft))
            draft.replace(target)

    def identity(self) -> Dict[str, Any]:
        """Its address."""
        return {"source": self.place, "revision": None}
