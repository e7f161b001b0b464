"""Fetches pinned files from their vendors, verified, over lines that break."""

import hashlib
import os
import time
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.mirror.locked_file import LockedFile
from llm_fleet.rules.codes import Code

_ATTEMPTS, _PAUSE, _QUIET, _BLOCK = 4, 0.5, 60, 1 << 20
"""How often; the seconds before the second time, doubled each time; those without a byte; bytes at a time."""


def fetch(file: LockedFile, folder: Path) -> Path:
    """Return `file` in `folder`, fetching it unless it is there. Raises `FleetError` when it cannot be had as pinned.

    What came before a break stays in `folder`, and only the rest is asked for.
    """
    target = folder / file.key
    if target.is_file() and sha256_of(target) == file.sha256:
        return target
    part = target.with_name(f".{target.name}.part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(Code.MIRROR_STORE, f"{folder}: {error.strerror or error}", "name another folder as the cache")
    for attempt in range(_ATTEMPTS):
        try:
            _get(file, part)
            break
        except (OSError, HTTPException) as error:
            gone = isinstance(error, HTTPError) and error.code < 500 and error.code not in (408, 416, 429)
            if gone or attempt == _ATTEMPTS - 1:
                remedy = "try again later; if the vendor has taken it away, make the lock file anew"
                refuse(Code.MIRROR_FETCH, f"{file} cannot be fetched: {error}", remedy, value=file.url)
            time.sleep(_PAUSE * 2**attempt)
    found = sha256_of(part)
    if found != file.sha256:
        part.unlink()
        remedy = "do not use it: ask the vendor, or make the lock file anew from signed indexes"
        refuse(Code.MIRROR_CHECKSUM, f"{file}: its SHA-256 is {found}, pinned is {file.sha256}", remedy, value=file.url)
    os.replace(part, target)
    return target


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of the file at `path`, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _get(file: LockedFile, part: Path) -> None:
    had = part.stat().st_size if part.exists() else 0
    if had >= file.size:
        if had == file.size:
            return
        part.unlink()
        had = 0
    headers = {"Range": f"bytes={had}-"} if had else {}
    try:
        with urlopen(Request(file.url, headers=headers), timeout=_QUIET) as answer:  # noqa: S310 - http(s), see the lock
            _save(answer, part, file.size)
    except HTTPError as error:
        if error.code == 416:
            part.unlink(missing_ok=True)
        raise


def _save(answer: HTTPResponse, part: Path, size: int) -> None:
    with part.open("ab" if answer.status == 206 else "wb") as target:
        while block := answer.read(_BLOCK):
            target.write(block)
            if target.tell() > size:
                break  # The checksum tells the rest.
    if part.stat().st_size < size:
        raise OSError(f"the connection broke after {part.stat().st_size} of {size} bytes")
