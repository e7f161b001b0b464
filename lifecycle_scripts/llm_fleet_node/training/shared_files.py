"""Files that several nodes write on shared storage: whole or not at all, and no node takes away another's draft.

`Host.write` tells its own drafts by the number of the process, which means nothing on another node.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional, cast

_DRAFT = ".new-"


def unique() -> str:
    """Return a name that no other node takes."""
    return os.urandom(6).hex()


def draft(place: Path, data: bytes, mode: int = 0o644) -> Path:
    """Write `data` into a file of its own beside `place`, to its end, and return where it is."""
    path = place.with_name(f"{_DRAFT}{unique()}")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(path, mode)
    except BaseException:
        path.unlink()
        raise
    return path


def put(place: Path, data: bytes, mode: int = 0o644) -> None:
    """Make `place` hold `data`, whole or not at all. Its folder must be there."""
    made = draft(place, data, mode)
    try:
        os.replace(made, place)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def link(place: Path, target: str) -> None:
    """Make `place` a symbolic link to `target`, in one moment. Raises `OSError` over a folder."""
    made = place.with_name(f"{_DRAFT}{unique()}")
    made.symlink_to(target)
    try:
        os.replace(made, place)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def read_document(place: Path) -> Optional[dict[str, Any]]:
    """Return the JSON object in `place`; `None` when there is none, or it is something else."""
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", document) if isinstance(document, dict) else None


def as_text(document: dict[str, Any]) -> bytes:
    """Return `document` as it is written: JSON for people too."""
    return (json.dumps(document, indent=2) + "\n").encode()


def is_draft(name: str) -> bool:
    """Return whether a file called `name` is somebody's draft, or was left by one who was killed."""
    return name.startswith(_DRAFT)
