"""Reads `tokens.bin` and `tokens.json` of the stage `tokenize`. Needs no torch and no numpy."""

from __future__ import annotations

import json
import mmap
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import List

from llm_fleet_training.failures import Code, fail

WIDTHS = {"uint16": (2, "H"), "uint32": (4, "I")}
"""Bytes per token, and the type code of `array`; little-endian."""


@dataclass(frozen=True)
class TokensRecord:
    """The content of `tokens.json`; `count` tokens, each below `vocabulary`."""

    file: Path
    dtype: str
    count: int
    vocabulary: int
    sha256: str
    tokenizer: str


def read_record(folder: Path) -> TokensRecord:
    """Read `tokens.json`, and check the size of its file; LFJ06 if it differs."""
    place = folder / "tokens.json"
    try:
        words = json.loads(place.read_text())
        record = TokensRecord(
            file=folder / str(words["file"]),
            dtype=str(words["dtype"]),
            count=int(words["tokens"]),
            vocabulary=int(words["vocabulary"]),
            sha256=str(words["sha256"]),
            tokenizer=str(words.get("tokenizer", "")),
        )
    except FileNotFoundError:
        fail(Code.TOKENS, f"{place} is missing: `tokenize` has not run, or has not completed")
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail(Code.TOKENS, f"{place} cannot be read: {error!r}")
    if record.dtype not in WIDTHS:
        fail(Code.TOKENS, f"{place}: unknown dtype {record.dtype!r}; allowed: uint16, uint32")
    wanted = record.count * WIDTHS[record.dtype][0]
    seen = record.file.stat().st_size if record.file.is_file() else None
    if seen != wanted:
        has = "is missing" if seen is None else f"has {seen} bytes"
        fail(Code.TOKENS, f"{record.file} {has}; {record.count} tokens of {record.dtype} are {wanted} bytes")
    return record


class Tokens:
    """The memory-mapped tokens; sample n is tokens n x length to (n + 1) x length, and one more."""

    def __init__(self, record: TokensRecord, length: int) -> None:
        """`length` in tokens; LFJ07 when there are not enough for one sample."""
        self.record = record
        self.length = length
        self.samples = samples_of(record, length)
        if self.samples < 1:
            fail(
                Code.SEQUENCE_LENGTH, f"{record.count} tokens are too few for one sample of {length} and its next token"
            )
        with record.file.open("rb") as file:
            self._pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def sample(self, number: int) -> List[int]:
        """`length + 1` tokens: the input, and shifted by one the targets."""
        width, kind = WIDTHS[self.record.dtype]
        start = number * self.length * width
        found = array(kind, self._pages[start : start + (self.length + 1) * width])
        if sys.byteorder == "big":
            found.byteswap()
        return found.tolist()


def samples_of(record: TokensRecord, length: int) -> int:
    """The number of samples in one epoch."""
    return (record.count - 1) // length
