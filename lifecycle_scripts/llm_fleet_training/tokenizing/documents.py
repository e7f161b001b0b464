"""Reads the documents of a unit one after the other; errors name file and line."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Generator, Iterator, cast

from llm_fleet_training.tokenizing.units import Unit, kind

_MARK = codecs.BOM_UTF8


class BrokenData(Exception):
    """An error in the data, with its place; a worker raises it and the main process prints it."""


def documents(unit: Unit, field: str) -> Iterator[str]:
    """Yield texts; empty texts and empty lines are skipped. Raises `BrokenData`."""
    if not unit.lines:
        yield from _whole(unit)
        return
    number = 0
    with _opened(unit) as stream:
        for line in stream:
            number += 1
            text = line[len(_MARK) :] if unit.start == 0 and number == 1 and line.startswith(_MARK) else line
            if text.strip():
                try:
                    found = _document(text, field) if unit.json else text.decode("utf-8").rstrip("\r\n")
                except ValueError as error:
                    raise BrokenData(f"{unit.path}:{_before(unit) + number}: {_why(error)}") from None
                if found.strip():
                    yield found


def _document(line: bytes, field: str) -> str:
    said: Any = json.loads(line.decode("utf-8"))
    if not isinstance(said, dict):
        raise ValueError("the line is not a JSON object")
    held = cast("dict[str, Any]", said)
    if field not in held:
        raise ValueError(f"no field {field!r}; its fields: {', '.join(sorted(held)[:8]) or 'none'}")
    text = held[field]
    if not isinstance(text, str):
        raise ValueError(f"the field {field!r} is not a string")
    text.encode("utf-8")  # An unpaired surrogate is valid JSON, but not valid text.
    return text


def _whole(unit: Unit) -> Iterator[str]:
    with _opened(unit) as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BrokenData(f"{unit.path}:{line}: {_why(error)}") from None
    if text.strip():
        yield text


@contextmanager
def _opened(unit: Unit) -> Generator[IO[bytes], None, None]:
    packed = kind(Path(unit.path).name)[1]
    try:
        if packed == ".zst":
            with _unpacked(unit.path) as stream:
                yield stream
        elif packed == ".gz":
            with gzip.open(unit.path, "rb") as stream:
                yield cast("IO[bytes]", stream)
        else:
            with open(unit.path, "rb") as stream:
                yield _part(stream, unit)
    except (EOFError, gzip.BadGzipFile) as error:
        raise BrokenData(f"{unit.path}: the file is truncated, or not a gzip file: {error}") from None


def _part(stream: IO[bytes], unit: Unit) -> IO[bytes]:
    if unit.end < 0:
        return stream
    stream.seek(unit.start)
    return io.BytesIO(stream.read(unit.end - unit.start))


@contextmanager
def _unpacked(path: str) -> Generator[IO[bytes], None, None]:
    """Decompress with the program `zstd`: Python before 3.14 has no zstd."""
    try:
        process = subprocess.Popen(["zstd", "-dcq", "--", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError:
        raise BrokenData(f"{path}: this node has no program zstd: install it, or unpack the file") from None
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        yield process.stdout
        said = process.stderr.read().decode("utf-8", "replace").strip()
    if process.returncode:
        raise BrokenData(f"{path}: {said}")


def _before(unit: Unit) -> int:
    """The number of lines in the file before the unit; counted only for an error."""
    with open(unit.path, "rb") as opened:
        return sum(chunk.count(b"\n") for chunk in _chunks(opened, unit.start))


def _chunks(stream: IO[bytes], count: int) -> Iterator[bytes]:
    while count > 0 and (chunk := stream.read(min(count, 1 << 22))):
        count -= len(chunk)
        yield chunk


def _why(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: {error.reason} ({error.object[error.start]:#04x})"
    if isinstance(error, UnicodeEncodeError):
        return "the text has an unpaired surrogate, which is not a character"
    return str(error)
