"""Fetches a file from its vendor. What was there of it after a break is kept, and the rest asked for."""

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
"""How often, and the seconds before the second time; twice as long before each other."""
_QUIET = 20
"""Seconds without a byte after which the connection is taken for dead."""
_BLOCK = 1 << 18
_SECONDS, _BYTES_PER_SECOND = 60.0, 500_000
"""How long a file may take: to begin with, and at this speed."""


class _Unusable(Exception):
    """The server answered, and another attempt would get the same answer."""


def fetch(node: Node, file: Download, part: Path) -> str:
    """Put the file into `part`, not yet compared; return where it came from. Raises `Failure`."""
    deadline = time.monotonic() + _SECONDS + file.size / _BYTES_PER_SECOND
    for attempt in range(_ATTEMPTS):
        try:
            _get(file, part, deadline)
        except _Unusable as error:
            fail(Code.DOWNLOAD_GONE, f"{file.url}: {error}", final=True)
        except OSError as error:  # What urllib, ssl and sockets raise.
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
    if had >= file.size:  # Whole or spoilt: the checksum tells, and a spoilt one is begun anew.
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
            raise _Unusable(f"the server says {error.code} {error.reason}") from error
        raise
    except HTTPException as error:
        raise OSError(f"the connection broke: {error!r}") from error


def _save(answer: HTTPResponse, part: Path, size: int, deadline: float) -> None:
    """Write what comes to the end of `part`, or over it when the server began anew."""
    with open(part, "ab" if answer.status == 206 else "wb") as target:
        for block in iter(lambda: answer.read(_BLOCK), b""):
            target.write(block)
            if target.tell() > size:
                fail(
                    Code.DOWNLOAD_CHANGED, f"{answer.url}: the server sends more than the {size} bytes that are pinned"
                )
            if time.monotonic() > deadline:
                raise TimeoutError("not in time")
    if part.stat().st_size < size:
        raise OSError(f"the connection broke after {part.stat().st_size} of {size} bytes")
