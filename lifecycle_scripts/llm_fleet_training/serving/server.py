"""Requirements of a model server, in the format that the service's check reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, Optional

from llm_fleet_training.failures import Code, fail

_FILE = Path(__file__).with_name("servers.json")
PLAIN: Dict[str, Any] = {"compiled": False}
"""The requirement for a model whose server compiles it, or that is not for Neuron."""


def servers() -> Dict[str, Any]:
    """The catalog's data about servers and their instances."""
    return json.loads(_FILE.read_text(encoding="utf-8"))


class Serving:
    """A server on an instance type, with its sizes."""

    def __init__(
        self,
        server: str,
        instance_type: str,
        *,
        tensor_parallel: Optional[int] = None,
        batch_size: Optional[int] = None,
        sequence_length: Optional[int] = None,
    ) -> None:
        """A size of `None` is the service's default. LFJ01 for an unknown server or unsupported values."""
        known = servers()
        self.server = server
        self.facts: Dict[str, Any] = known["servers"].get(server) or _unknown("--server", server, known["servers"])
        name = instance_type[3:] if instance_type.startswith("ml.") else instance_type
        self.instance: Dict[str, Any] = known["instances"].get(name) or _unknown(
            "--instance-type", name, known["instances"]
        )
        self.usual: Dict[str, Any] = known["usual"]
        if self.instance["family"] not in self.facts["families"]:
            fail(
                Code.ARGUMENTS,
                f"{server} does not run on {name}; allowed families: {', '.join(self.facts['families'])}",
            )
        self.tensor_parallel: int = tensor_parallel or self.instance["cores"]
        allowed = self.instance["tensor_parallel"]
        if allowed and self.tensor_parallel not in allowed:
            fail(
                Code.ARGUMENTS,
                f"tensor parallel {self.tensor_parallel} does not fit {name}; allowed: "
                f"{', '.join(map(str, allowed))} cores",
            )
        self.batch_size: int = batch_size or self.usual["batch_size"]
        self.sequence_length: int = sequence_length or self.usual["sequence_length"]

    @property
    def compiles_itself(self) -> bool:
        """Whether the server loads a plain checkpoint, because its image has no export."""
        return self.facts["exports"] is None

    @property
    def requested(self) -> Dict[str, Any]:
        """The service's requirements, but shards are always required: an export from a folder has them."""
        if self.compiles_itself:
            return PLAIN
        return {
            "compiled": True,
            "target": self.instance["target"],
            "tensor_parallel": self.tensor_parallel,
            "batch_size": self.batch_size,
            "sequence_length": self.sequence_length,
            "compiler": self.facts["compiler"],
            "layout": "optimum",
            "dtype": self.usual["cast_type"] if self.facts["casts"] else None,
            "shards_needed": True,
        }


def _unknown(option: str, given: str, known: Dict[str, Any]) -> Any:
    fail(Code.ARGUMENTS, f"unknown value {given!r} for {option}; allowed: {', '.join(known)}")
