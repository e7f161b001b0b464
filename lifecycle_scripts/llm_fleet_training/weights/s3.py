"""A model below an S3 prefix."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.weights import aws
from llm_fleet_training.weights.entries import Entry


class S3Prefix:
    """Reads with the AWS CLI and the IAM permissions of the node's role."""

    def __init__(self, address: str) -> None:
        """`address`: `s3://bucket/prefix`."""
        aws.split(address)
        self.place = address.rstrip("/")

    def entries(self) -> List[Entry]:
        """Its objects; LFJ32 when there are none."""
        found = aws.listed(self.place)
        if not found:
            fail(Code.MODEL_NOT_FOUND, f"no objects at {self.place}/")
        return found

    def fetch(self, chosen: List[Entry], folder: Path) -> None:
        """Copy one object after the other, each in parallel parts; a final name means a complete file."""
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
