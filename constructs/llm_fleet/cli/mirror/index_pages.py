"""Downloads pages and files of package indexes.

A page of a package index (PEP 503, 658, 691) has the files of one package with their checksums. The standard library
parses it in 50 lines; `packaging` has no parser, and `pypi-simple` has six dependencies.

assumption: neuron-package-index-as-pep-503

A proxy index on this machine requests each package only from the index that is allowed for it.

A resolver requests each package from all indexes: anyone who publishes a newer version of a vendor's package on PyPI
could have it installed, and PyPI would get private names.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import Request, urlopen

from llm_fleet.cli.mirror.locked_file import LockedFile
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.training.packages import plain

_KINDS = {".deb": "deb", ".rpm": "rpm", ".whl": "wheel"}
_SECONDS = 60


def named_file(name: str, version: str, url: str, sha256: str, *, system: str) -> LockedFile:
    """Return the file with its size, from its server. Raises `FleetError`.

    A package is for `system`, other files are for any. The content is compared when the mirror is built.
    """
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        remedy = "write the 64 hexadecimal digits that the vendor publishes, not those of a downloaded file"
        refuse(Code.MIRROR_CHECKSUM, "not a SHA-256", remedy, value=sha256)
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
    """Return the size of the file at `url` in bytes. Raises `FleetError` if its server does not send it."""
    if not url.startswith(("https://", "http://")):
        refuse(Code.MIRROR_FETCH, "not a URL", "write `https://…`", value=url)
    try:
        with urlopen(Request(url, method="HEAD"), timeout=_SECONDS) as answer:  # noqa: S310 - http(s), just checked
            size = int(answer.headers.get("Content-Length", 0))
    except (OSError, HTTPException, ValueError) as error:
        refuse(Code.MIRROR_FETCH, f"cannot download the file: {error}", "check the URL", value=url)
    if not size:
        refuse(Code.MIRROR_FETCH, "the server does not send its size", "use another server", value=url)
    return size


_ATTEMPTS, _PAUSE, _QUIET, _BLOCK = 4, 0.5, 60, 1 << 20
"""Attempts; seconds before the second attempt, doubled each time; timeout without data; bytes per read."""


def fetch(file: LockedFile, folder: Path) -> Path:
    """Return `file` in `folder`, after a download if necessary. Raises `FleetError` if it does not match its pin.

    An interrupted download stays in `folder`, and is continued.
    """
    target = folder / file.key
    if target.is_file() and sha256_of(target) == file.sha256:
        return target
    part = target.with_name(f".{target.name}.part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(Code.MIRROR_STORE, f"{folder}: {error.strerror or error}", "choose another directory for --cache")
    for attempt in range(_ATTEMPTS):
        try:
            _get(file, part)
            break
        except (OSError, HTTPException) as error:
            gone = isinstance(error, HTTPError) and error.code < 500 and error.code not in (408, 416, 429)
            if gone or attempt == _ATTEMPTS - 1:
                remedy = "try again later; if the vendor has removed it, write the lock file again"
                refuse(Code.MIRROR_FETCH, f"cannot download {file}: {error}", remedy, value=file.url)
            time.sleep(_PAUSE * 2**attempt)
    found = sha256_of(part)
    if found != file.sha256:
        part.unlink()
        remedy = "do not use it: ask the vendor, or write the lock file again from signed indexes"
        refuse(
            Code.MIRROR_CHECKSUM,
            f"{file}: its SHA-256 is {found} instead of the pinned {file.sha256}",
            remedy,
            value=file.url,
        )
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
            if target.tell() > size:  # codespell:ignore tell
                break  # The checksum shows the rest.
    if part.stat().st_size < size:
        raise OSError(f"the connection was lost after {part.stat().st_size} of {size} bytes")


_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedFile:
    """A file of a package in an index."""

    url: str
    sha256: str
    """Empty if the index has none."""
    size: int | None = None
    requires_python: str | None = None
    metadata: str | bool = False
    """Whether `<url>.metadata` exists, or its checksum."""
    yanked: str | bool = False

    @property
    def name(self) -> str:
        """The file's name."""
        return unquote(self.url.rsplit("/", 1)[-1])


def read_page(index: str, name: str) -> list[IndexedFile] | None:
    """Return the files of the package `name` (normalized); `None` if `index` does not have it.

    Raises `FleetError`.
    """
    page = f"{index.rstrip('/')}/{name}/"
    if not _vouches(page):
        # Its checksums are trusted, and plain HTTP could be modified on the way.
        refuse(Code.LOCK_WHEEL, "the index must have an https URL", "write `https://…/simple`", value=index)
    try:
        with urlopen(Request(page, headers={"Accept": _ACCEPT}), timeout=_SECONDS) as answer:  # noqa: S310
            content, kind, place = answer.read().decode(), answer.headers.get_content_type(), answer.url
        return _from_json(json.loads(content), place) if kind.endswith("json") else _from_html(content, place)
    except (OSError, HTTPException, ValueError) as error:
        if getattr(error, "code", None) == 404:
            return None
        refuse(
            Code.LOCK_WHEEL,
            f"cannot read {page}: {error}",
            "check that this machine can connect to the index",
            value=index,
        )
    except (KeyError, TypeError, AttributeError):
        refuse(Code.LOCK_WHEEL, f"{page} is not a package index", "check the URL of the index", value=index)


def _vouches(page: str) -> bool:
    """Return whether `page` cannot be modified on the way."""
    if page.startswith("https://"):
        return True
    host = urlsplit(page).hostname or ""
    try:
        return page.startswith("http://") and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False


def _from_json(document: Mapping[str, Any], place: str) -> list[IndexedFile]:
    return [
        IndexedFile(
            url=urljoin(place, file["url"]),
            sha256=file.get("hashes", {}).get("sha256", ""),
            size=file.get("size"),
            requires_python=file.get("requires-python"),
            metadata=_metadata(file.get("core-metadata", file.get("dist-info-metadata", False))),
            yanked=file.get("yanked", False),
        )
        for file in document["files"]
    ]


def _from_html(content: str, place: str) -> list[IndexedFile]:
    links = _Links()
    links.feed(content)
    found: list[IndexedFile] = []
    for attributes in links.found:
        url, fragment = urldefrag(urljoin(place, attributes["href"]))
        match = re.search(r"sha256=([0-9a-f]{64})", fragment)
        reported = attributes.get("data-core-metadata", attributes.get("data-dist-info-metadata"))
        found.append(
            IndexedFile(
                url=url,
                sha256=match[1] if match else "",
                requires_python=attributes.get("data-requires-python"),
                metadata=False if reported is None else reported.removeprefix("sha256=") if "=" in reported else True,
                yanked=attributes["data-yanked"] or True if "data-yanked" in attributes else False,
            )
        )
    return found


def _metadata(reported: Any) -> str | bool:
    return str(reported.get("sha256", "")) or True if isinstance(reported, dict) else bool(reported)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and attributes.get("href"):
            self.found.append(attributes)


_KIND = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexes:
    """Index of each package."""

    own: Mapping[str, str] = field(default_factory=dict[str, str])
    """By normalized name: the only index for the package."""
    others: Sequence[str] = ()
    """Indexes for other packages: only the first that has the package is used."""

    def of(self, name: str) -> Sequence[str]:
        """Return the indexes for `name`."""
        own = self.own.get(plain(name))
        return self.others if own is None else (own,)


class OneIndex(ThreadingHTTPServer):
    """Local index with the wheels of `indexes` that have a SHA-256."""

    daemon_threads = True

    def __init__(self, indexes: Indexes) -> None:
        """Listen on the loopback interface."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.indexes = indexes
        self.wheels: dict[str, list[IndexedFile]] = {}
        """Its responses by package."""
        self.failures: list[FleetError] = []
        """Errors of the real indexes."""

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/simple"

    def page(self, name: str) -> list[IndexedFile] | None:
        """Return the wheels of `name`; `None` if no index has it."""
        for index in self.indexes.of(name):
            found = read_page(index, plain(name))
            if found is not None:
                wheels = [file for file in found if file.name.endswith(".whl") and file.sha256]
                self.wheels[plain(name)] = wheels
                return wheels
        return None


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, OneIndex)
        name = self.path.rstrip("/").rsplit("/", 1)[-1]
        try:
            files = server.page(name)
        except FleetError as error:
            server.failures.append(error)
            files = None
        if files is None:
            self.send_error(404)
            return
        page = {"meta": {"api-version": "1.1"}, "name": plain(name), "files": [_entry(file) for file in files]}
        body = json.dumps(page).encode()
        self.send_response(200)
        self.send_header("Content-Type", _KIND)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def _entry(file: IndexedFile) -> dict[str, Any]:
    metadata = {"sha256": file.metadata} if isinstance(file.metadata, str) else file.metadata
    return {
        "filename": file.name,
        "url": file.url,
        "hashes": {"sha256": file.sha256},
        "requires-python": file.requires_python,
        "core-metadata": metadata,
        "dist-info-metadata": metadata,
        "yanked": file.yanked,
    }


@contextmanager
def serve_one_index(indexes: Indexes) -> Generator[OneIndex]:
    """Serve `indexes` until the end of the context."""
    with OneIndex(indexes) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
