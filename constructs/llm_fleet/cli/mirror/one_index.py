"""One package index on this machine that asks each real one only for what it may answer for.

A resolver asks all indexes for each package: anyone who puts a newer version of a vendor's package onto PyPI could have
it installed, and PyPI would learn names that only the vendor should.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from llm_fleet.cli.mirror.index_page import IndexedFile, read_page
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.training.locked import plain

_KIND = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexes:
    """Which index answers for which package."""

    own: Mapping[str, str] = field(default_factory=dict[str, str])
    """By names as indexes write them: the only index that is asked for it."""
    others: Sequence[str] = ()
    """Asked for all else, in this order: the first that knows the package answers alone."""

    def of(self, name: str) -> Sequence[str]:
        """Return which are asked for `name`."""
        own = self.own.get(plain(name))
        return self.others if own is None else (own,)


class OneIndex(ThreadingHTTPServer):
    """Answers for `indexes`, with wheels whose SHA-256 they publish."""

    daemon_threads = True

    def __init__(self, indexes: Indexes) -> None:
        """Listen on the loopback interface."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.indexes = indexes
        self.wheels: dict[str, list[IndexedFile]] = {}
        """What it has answered, by the name of the package."""
        self.failures: list[FleetError] = []
        """What went wrong when real indexes were asked."""

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}/simple"

    def page(self, name: str) -> list[IndexedFile] | None:
        """Return the wheels of `name`; `None` where no index knows it."""
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
        """Say nothing."""


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
    """Answer for `indexes` until the end of the context."""
    with OneIndex(indexes) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
