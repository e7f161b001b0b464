"""What the program last did, in a file that the step `metrics` and people read."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

NAME = "status.json"


@dataclass(frozen=True)
class Status:
    """How the program fares."""

    settings: str
    """The fingerprint of its settings."""
    measured: int
    """Milliseconds since 1970 of the last values."""
    values: int
    """How many values there were."""
    absent: dict[str, str]
    """Why sources told nothing."""
    broken: list[str]
    """Which of them should have."""
    published: Optional[int] = None
    """Milliseconds since 1970 when values were last taken by where they go; `None` for never yet."""
    trouble: Optional[str] = None
    """Why the last values were not taken; `None` when they were."""
    waiting: int = 0
    """How many minutes of values wait to be taken."""


def write_status(folder: Path, status: Status) -> None:
    """Put `status` in place, whole."""
    write_whole(folder / NAME, json.dumps(asdict(status)) + "\n")


def read_status(folder: Path) -> Optional[Status]:
    """Return what was written last; `None` when there is nothing, or it is of another release."""
    try:
        return Status(**json.loads((folder / NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path` so that nobody reads half of it."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
