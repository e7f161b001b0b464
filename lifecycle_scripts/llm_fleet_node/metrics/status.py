"""The program's last result, in a file for the step `metrics` and for users."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

NAME = "status.json"


@dataclass(frozen=True)
class Status:
    """The program's state."""

    settings: str
    """The fingerprint of its settings."""
    measured: int
    """Time of the last values, in milliseconds since 1970."""
    values: int
    """Number of values."""
    absent: dict[str, str]
    """Why sources have no values."""
    broken: list[str]
    """Names of the failed sources."""
    published: Optional[int] = None
    """Time of the last successful publishing, in milliseconds since 1970; `None` if there was none."""
    trouble: Optional[str] = None
    """Why the last values were not published; `None` if they were."""
    waiting: int = 0
    """Minutes of values that wait to be published."""


def write_status(folder: Path, status: Status) -> None:
    """Write `status` atomically."""
    write_whole(folder / NAME, json.dumps(asdict(status)) + "\n")


def read_status(folder: Path) -> Optional[Status]:
    """Return the last status; `None` if there is none, or if it is of another release."""
    try:
        return Status(**json.loads((folder / NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path` atomically."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
