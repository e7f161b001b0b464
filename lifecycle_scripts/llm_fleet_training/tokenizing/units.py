"""The data set in pieces that can be tokenized side by side; the same pieces whatever the number of processes."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Iterator, List, Sequence, Tuple

from llm_fleet_training.failures import Code, fail

UNIT_BYTES = 32 * 1024**2
"""Of a plain file of lines, so many go into a unit, to the end of the line. Changing it changes no tokens."""
LARGEST_DOCUMENT = 64 * 1024**2
"""Bytes of a text file that is one document: it is tokenized in one piece, which takes some thirty times as much."""
KINDS = (".txt", ".jsonl", ".json")
_PACKED = (".gz", ".zst")


@dataclass(frozen=True)
class Unit:
    """Part of a file: of lines from byte `start` to before `end`, or the whole of a packed file (`end` is -1)."""

    path: str
    lines: bool
    """Whether each line is a document, else the whole file is."""
    json: bool
    """Whether a line is a JSON object."""
    start: int
    end: int


def find_files(given: Sequence[str]) -> List[Path]:
    """Every file of the data set in the order of paths; LFJ35 for what is not there or of another kind."""
    found: List[Path] = []
    for each in given:
        place = Path(each).expanduser().absolute()
        if place.is_dir():
            below = [path for path in sorted(place.rglob("*")) if path.is_file() and not _hidden(path, place)]
            found += [path for path in below if kind(path.name)[0] in KINDS]
            if not any(kind(path.name)[0] in KINDS for path in below):
                fail(
                    Code.DATA, f"{place} holds no file of text: {', '.join(path.name for path in below[:3]) or 'none'}"
                )
        elif place.is_file():
            if kind(place.name)[0] not in KINDS:
                fail(Code.DATA, f"{place} is neither .txt nor .jsonl")
            found.append(place)
        else:
            fail(Code.DATA, f"{place} is not there")
    return found


def kind(name: str) -> Tuple[str, str]:
    """What a file is by its name, and how it is packed: `('.jsonl', '.gz')`."""
    packed = next((end for end in _PACKED if name.endswith(end)), "")
    stem = name[: -len(packed)] if packed else name
    return os.path.splitext(stem)[1].lower(), packed


def cut_files(files: Sequence[Path], *, text_is: str, unit_bytes: int = UNIT_BYTES) -> List[Unit]:
    """Every unit of the files, in their order. `text_is`: `file` or `line`, what a document is of a text file."""
    found: List[Unit] = []
    for path in files:
        ending, packed = kind(path.name)
        jsons = ending != ".txt"
        lines = jsons or text_is == "line"
        size = path.stat().st_size
        if not lines and size > LARGEST_DOCUMENT:
            fail(Code.DATA, f"{path} has {size} bytes in one document: say --documents line, or cut it into more files")
        spans = [(0, -1)] if packed or not lines else list(_spans(path, size, unit_bytes))
        found += [Unit(str(path), lines, jsons, start, end) for start, end in spans]
    return found


def plan_hash(units: Sequence[Unit], *more: str) -> str:
    """Names a plan: the units, the files as they are now, and whatever else decides the tokens."""
    state = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in sorted({unit.path for unit in units})]
    text = json.dumps([[asdict(unit) for unit in units], state, more])
    return hashlib.sha256(text.encode()).hexdigest()


def _spans(path: Path, size: int, unit_bytes: int) -> Iterator[Tuple[int, int]]:
    """Cut at ends of lines; a file of nothing has one span of nothing."""
    start = 0
    with open(path, "rb") as opened:
        while True:
            opened.seek(min(start + unit_bytes, size))
            opened.readline()
            end = opened.tell()
            yield start, end
            if end >= size:
                return
            start = end


def _hidden(path: Path, below: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(below).parts)
