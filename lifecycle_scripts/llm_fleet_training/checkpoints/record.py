"""`checkpoint.json`: written last, so that a folder with it is complete; it identifies model and run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict

NAME = "checkpoint.json"
FORMAT = 1


@dataclass(frozen=True)
class FileRecord:
    """Bytes, and hexadecimal SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Record:
    """Metadata of a checkpoint; `files` by name relative to its folder, without `checkpoint.json` itself."""

    step: int
    backend: str
    layout: str
    fingerprint: str
    model: Dict[str, Any]
    degrees: Dict[str, int]
    world_size: int
    seed: int
    tokens_seen: int
    data: str = ""
    """SHA-256 of the tokens that were trained on."""
    written: str = ""
    """UTC, ISO 8601."""
    files: Dict[str, FileRecord] = field(default_factory=lambda: {})
    format: int = FORMAT

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())

    def as_json(self) -> str:
        """JSON text of `checkpoint.json`."""
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


class Unreadable(Exception):
    """The record of a folder is missing, truncated or of another format; the text says which."""


def read(folder: Path) -> Record:
    """The record of a checkpoint's folder."""
    try:
        words = json.loads((folder / NAME).read_text())
        if words["format"] != FORMAT:
            raise Unreadable(f"{NAME} has format {words['format']}, only {FORMAT} is supported")
        files = {name: FileRecord(int(file["size"]), str(file["sha256"])) for name, file in words.pop("files").items()}
        return Record(**words, files=files)
    except FileNotFoundError:
        raise Unreadable(f"{NAME} is missing") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"{NAME} cannot be read: {error}") from error
