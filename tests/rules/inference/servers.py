"""Model servers as rules see them, for tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.rules.inference.terms import ServerKind


@dataclass(frozen=True, kw_only=True)
class AServer:
    """Any model server, right or wrong."""

    kind: ServerKind = ServerKind.TGI
    image: str | None = None
    runtime_version: str | None = None
    tensor_parallel: int | None = None
    batch_size: int = 4
    sequence_length: int = 4096
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    capabilities: Sequence[str] = ()


TOKEN = "${Token[TOKEN.42]}"
OWN_IMAGE = "registry.example.com:5000/team/tgi:1.2"
