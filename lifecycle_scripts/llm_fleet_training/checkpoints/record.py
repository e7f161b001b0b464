"""`checkpoint.json`: written last, so that a folder with it is complete, and what tells whose checkpoint it is."""

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
    """What a checkpoint is of; `files` by name relative to its folder, `checkpoint.json` itself not among them."""

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
        """As it is written."""
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


class Unreadable(Exception):
    """A folder whose record is missing, cut off or of another format; the text says which."""


def read(folder: Path) -> Record:
    """The record of a checkpoint's folder."""
    try:
        words = json.loads((folder / NAME).read_text())
        if words["format"] != FORMAT:
            raise Unreadable(f"{NAME} has format {words['format']}, {FORMAT} is known here")
        files = {name: FileRecord(int(file["size"]), str(file["sha256"])) for name, file in words.pop("files").items()}
        return Record(**words, files=files)
    except FileNotFoundError:
        raise Unreadable(f"{NAME} is missing") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"{NAME} cannot be read: {error}") from error
