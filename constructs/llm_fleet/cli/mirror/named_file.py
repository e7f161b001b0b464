"""A file that its user names with its checksum: nothing else could vouch for it."""

import re
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.mirror.locked_file import LockedFile
from llm_fleet.rules.codes import Code

_KINDS = {".deb": "deb", ".rpm": "rpm", ".whl": "wheel"}
_SECONDS = 60


def named_file(name: str, version: str, url: str, sha256: str, *, system: str) -> LockedFile:
    """Return the file with its size, which its server tells. Raises `FleetError`.

    A package is for `system`, anything else for any. The content is compared when the mirror is built.
    """
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        remedy = "write the 64 hex digits that the vendor publishes; never those of a file that you only downloaded"
        refuse(Code.MIRROR_CHECKSUM, "this is no SHA-256", remedy, value=sha256)
    kind = _KINDS.get(Path(url.split("?")[0]).suffix, "archive")
    return LockedFile(
        name=name,
        version=version,
        kind=kind,
        system=system if kind in ("deb", "rpm") else None,
        url=url,
        sha256=sha256,
        size=size_of(url),
    )


def size_of(url: str) -> int:
    """Return how many bytes the file at `url` has. Raises `FleetError` when its server does not tell."""
    if not url.startswith(("https://", "http://")):
        refuse(Code.MIRROR_FETCH, "this is no web address", "write https://…", value=url)
    try:
        with urlopen(Request(url, method="HEAD"), timeout=_SECONDS) as answer:  # noqa: S310 - http(s), just checked
            size = int(answer.headers.get("Content-Length", 0))
    except (OSError, HTTPException, ValueError) as error:
        refuse(Code.MIRROR_FETCH, f"the file cannot be reached: {error}", "see the address", value=url)
    if not size:
        refuse(Code.MIRROR_FETCH, "its server does not tell its size", "name another server", value=url)
    return size
