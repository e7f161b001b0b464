"""Files that several nodes write on shared storage: atomically, and without removing temporary files of other nodes.

`Host.write` recognizes its temporary files by process id, which is not unique over nodes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional, cast

_DRAFT = ".new-"


def unique() -> str:
    """Return a name that no other node uses."""
    return os.urandom(6).hex()


def draft(place: Path, data: bytes, mode: int = 0o644) -> Path:
    """Write `data` to a temporary file next to `place`, and return its path."""
    path = place.with_name(f"{_DRAFT}{unique()}")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)  # codespell:ignore wronly
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
    """Write `data` to `place` atomically. Its folder must exist."""
    made = draft(place, data, mode)
    try:
        os.replace(made, place)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def link(place: Path, target: str) -> None:
    """Make `place` a symbolic link to `target` atomically. Raises `OSError` if `place` is a folder."""
    made = place.with_name(f"{_DRAFT}{unique()}")
    made.symlink_to(target)
    try:
        os.replace(made, place)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def read_document(place: Path) -> Optional[dict[str, Any]]:
    """Return the JSON object in `place`; `None` if it is missing or not an object."""
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", document) if isinstance(document, dict) else None


def as_text(document: dict[str, Any]) -> bytes:
    """Return `document` as indented JSON."""
    return (json.dumps(document, indent=2) + "\n").encode()


def is_draft(name: str) -> bool:
    """Return whether the file `name` is a temporary file, of a running or a killed process."""
    return name.startswith(_DRAFT)
