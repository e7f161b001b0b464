"""Downloads a file from its vendor, and resumes interrupted downloads."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.manifest_parts import Download
from llm_fleet_node.node import Node
from llm_fleet_node.waiting import pause

if TYPE_CHECKING:
    from http.client import HTTPResponse

_ATTEMPTS, _PAUSE = 4, 0.5
"""Number of attempts, and seconds before the second one; the pause doubles each time."""
_QUIET = 20
"""Timeout of a connection, in seconds without data."""
_BLOCK = 1 << 18
_SECONDS, _BYTES_PER_SECOND = 60.0, 500_000
"""Timeout for a file: fixed seconds, and bytes per second."""


class _Unusable(Exception):
    """An answer of the server that another attempt would also get."""


def fetch(node: Node, file: Download, part: Path) -> str:
    """Download the file to `part`, not yet verified; return its source. Raises `Failure`."""
    deadline = time.monotonic() + _SECONDS + file.size / _BYTES_PER_SECOND
    for attempt in range(_ATTEMPTS):
        try:
            _get(file, part, deadline)
        except _Unusable as error:
            fail(Code.DOWNLOAD_NOT_FOUND, f"{file.url}: {error}", final=True)
        except OSError as error:  # Errors of urllib, ssl and sockets.
            if attempt == _ATTEMPTS - 1 or time.monotonic() > deadline:
                fail(Code.DOWNLOAD_UNREACHABLE, f"{file.url}: {error}")
            node.say(f"{file.url}: {error}; trying again")
            pause(_PAUSE * 2**attempt)
        else:
            break
    return file.url


def _get(file: Download, part: Path, deadline: float) -> None:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    had = part.stat().st_size if part.exists() else 0
    if had >= file.size:  # Complete or corrupt: the checksum shows it, and a corrupt file is downloaded again.
        if had == file.size:
            return
        part.unlink()
        had = 0
    headers = {"Range": f"bytes={had}-"} if had else {}
    try:
        with urlopen(Request(file.url, headers=headers), timeout=_QUIET) as answer:  # noqa: S310 - http(s), see schema
            _save(answer, part, file.size, deadline)
    except HTTPError as error:
        if error.code == 416 and had:
            part.unlink()
        elif error.code < 500 and error.code not in (408, 429):
            raise _Unusable(f"the server returned {error.code} {error.reason}") from error
        raise
    except HTTPException as error:
        raise OSError(f"the connection was lost: {error!r}") from error


def _save(answer: HTTPResponse, part: Path, size: int, deadline: float) -> None:
    """Append the data to `part`, or overwrite it if the server sends the whole file."""
    with open(part, "ab" if answer.status == 206 else "wb") as target:
        for block in iter(lambda: answer.read(_BLOCK), b""):
            target.write(block)
            if target.tell() > size:  # codespell:ignore tell
                fail(Code.DOWNLOAD_CHECKSUM, f"{answer.url}: the server sends more than the pinned {size} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError("timeout")
    if part.stat().st_size < size:
        raise OSError(f"the connection was lost after {part.stat().st_size} of {size} bytes")
