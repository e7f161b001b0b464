"""One file of a support bundle."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llm_fleet.cli.bundle.redact import Redactor

Found = str | dict[str, Any] | list[Any]
"""Text, or what is written as JSON."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, and how what is in it is found out."""

    name: str
    find: Callable[[], Found]
    """Raises `FleetError` where it cannot be had."""


def written(found: Found, redactor: Redactor) -> str:
    """Return what the file holds, without secrets."""
    if isinstance(found, str):
        return redactor.text(found)
    text = json.dumps(redactor.data(json.loads(json.dumps(found, default=_plain))), indent=2)
    return redactor.text(text) + "\n"


def _plain(value: object) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)  # pyright: ignore
