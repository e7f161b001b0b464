"""Splits the data set into units that can be tokenized in parallel; the same for any number of processes."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Iterator, List, Sequence, Tuple

from llm_fleet_training.failures import Code, fail

UNIT_BYTES = 32 * 1024**2
"""Bytes of a plain file of lines per unit, up to the end of the line. A change does not change the tokens."""
LARGEST_DOCUMENT = 64 * 1024**2
"""Maximum bytes of a text file that is one document: tokenizing it takes about thirty times as much memory."""
KINDS = (".txt", ".jsonl", ".json")
_PACKED = (".gz", ".zst")


@dataclass(frozen=True)
class Unit:
    """Part of a file: of lines from byte `start` to before `end`, or a whole compressed file (`end` is -1)."""

    path: str
    lines: bool
    """Whether each line is a document, else the whole file is."""
    json: bool
    """Whether a line is a JSON object."""
    start: int
    end: int


def find_files(given: Sequence[str]) -> List[Path]:
    """Every file of the data set in the order of paths; LFJ35 for a missing path or another type of file."""
    found: List[Path] = []
    for each in given:
        place = Path(each).expanduser().absolute()
        if place.is_dir():
            below = [path for path in sorted(place.rglob("*")) if path.is_file() and not _hidden(path, place)]
            found += [path for path in below if kind(path.name)[0] in KINDS]
            if not any(kind(path.name)[0] in KINDS for path in below):
                fail(Code.DATA_SET, f"{place} has no text file: {', '.join(path.name for path in below[:3]) or 'none'}")
        elif place.is_file():
            if kind(place.name)[0] not in KINDS:
                fail(Code.DATA_SET, f"{place} is neither .txt nor .jsonl")
            found.append(place)
        else:
            fail(Code.DATA_SET, f"{place} does not exist")
    return found


def kind(name: str) -> Tuple[str, str]:
    """Type and compression of a file by its name: `('.jsonl', '.gz')`."""
    packed = next((end for end in _PACKED if name.endswith(end)), "")
    stem = name[: -len(packed)] if packed else name
    return os.path.splitext(stem)[1].lower(), packed


def cut_files(files: Sequence[Path], *, text_is: str, unit_bytes: int = UNIT_BYTES) -> List[Unit]:
    """Every unit of the files, in their order. `text_is`: `file` or `line`, the document of a text file."""
    found: List[Unit] = []
    for path in files:
        ending, packed = kind(path.name)
        jsons = ending != ".txt"
        lines = jsons or text_is == "line"
        size = path.stat().st_size
        if not lines and size > LARGEST_DOCUMENT:
            fail(
                Code.DATA_SET,
                f"{path} has {size} bytes in one document: set --documents line, or split it into smaller files",
            )
        spans = [(0, -1)] if packed or not lines else list(_spans(path, size, unit_bytes))
        found += [Unit(str(path), lines, jsons, start, end) for start, end in spans]
    return found


def plan_hash(units: Sequence[Unit], *more: str) -> str:
    """A digest of all inputs of the tokens: units, files as they are now, tokenizer and options."""
    state = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in sorted({unit.path for unit in units})]
    text = json.dumps([[asdict(unit) for unit in units], state, more])
    return hashlib.sha256(text.encode()).hexdigest()


def _spans(path: Path, size: int, unit_bytes: int) -> Iterator[Tuple[int, int]]:
    """Split at ends of lines; an empty file has one empty span."""
    start = 0
    with open(path, "rb") as opened:
        while True:
            opened.seek(min(start + unit_bytes, size))
            opened.readline()
            end = opened.tell()  # codespell:ignore tell
            yield start, end
            if end >= size:
                return
            start = end


def _hidden(path: Path, below: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(below).parts)
