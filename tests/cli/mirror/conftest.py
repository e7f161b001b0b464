"""Vendors on this machine: web servers with range requests and failures, small wheels, and a signed repository."""

import hashlib
import json
import re
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest

from llm_fleet.cli.mirror import index_pages
from llm_fleet_local.drill.stand_ins.apt_repository import AptRepository, StubPackage, build, neuron_packages


class Web(ThreadingHTTPServer):
    """Serves the files in `folder`; `moods`: results of the next requests, a status or `cut`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.moods: list[str] = []
        self.requested: list[str] = []
        self.kinds: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    @property
    def web(self) -> Web:
        assert isinstance(self.server, Web)
        return self.server

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        mood = self.web.moods.pop(0) if self.web.moods else ""
        path = self.path.split("?")[0]
        self.web.requested.append(path + self.headers.get("Range", ""))
        file = self.web.folder / path.strip("/")
        file = file if file.exists() else self.web.folder / unquote(path).strip("/")
        file = file / "index" if file.is_dir() else file
        if mood.isdigit() or not file.is_file():
            self.send_error(int(mood or 404))
            return
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        body = file.read_bytes()[int(match[1]) if match else 0 :]
        self.send_response(206 if match else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", self.web.kinds.get(path, "application/octet-stream"))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[: len(body) // 2] if mood == "cut" else body)
        if mood == "cut":
            self.close_connection = True
            self.connection.close()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def serve(folder: Path) -> Generator[Web]:
    """Serve `folder` until the end of the context."""
    with Web(folder) as web:
        thread = Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield web
        finally:
            web.shutdown()
            thread.join()


def wheel(name: str, version: str, *requires: str, tag: str = "py3-none-any") -> tuple[str, bytes]:
    """Return the file name and the content of a wheel that pip accepts."""
    plain = name.replace("-", "_")
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        folder = f"{plain}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
        extras = "Provides-Extra: fast\n" if any("extra ==" in each for each in requires) else ""
        archive.writestr(
            f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{extras}{needs}"
        )
        archive.writestr(f"{folder}/WHEEL", f"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{folder}/RECORD", "")
    return f"{plain}-{version}-{tag}.whl", content.getvalue()


def publish(web: Web, place: str, *wheels: tuple[str, bytes], checksum: bool = True) -> str:
    """Put `wheels` into an index at `place` of `web`; return its address."""
    pages: dict[str, list[Any]] = {}
    for file, content in wheels:
        (web.folder / "files" / place).mkdir(parents=True, exist_ok=True)
        (web.folder / "files" / place / file).write_bytes(content)
        hashes = {"sha256": hashlib.sha256(content).hexdigest()} if checksum else {}
        entry = {"filename": file, "url": f"/files/{place}/{file}", "hashes": hashes, "size": len(content)}
        pages.setdefault(file.split("-")[0].replace("_", "-").lower(), []).append(entry)
    for name, files in pages.items():
        page = web.folder / place / name / "index"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files}))
        web.kinds[f"/{place}/{name}/"] = "application/vnd.pypi.simple.v1+json"
    return f"{web.url}/{place}"


def requirements(folder: Path, *lines: str) -> str:
    """Write a file of requirements; return its path."""
    path = folder / "requirements.txt"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


PACKAGES = (
    StubPackage("libthing1", "1.5-2", files={"/opt/libthing": "1.5\n"}),
    StubPackage("libthing1", "1.0-1"),
    StubPackage("tool", "2:3.0-1", depends="libthing1 (>= 1.5), mailer | other-mailer, base"),
    StubPackage("tool", "2:2.0-1", depends="libthing1"),
    StubPackage("postman", "1.0+b1", provides="mailer"),
    StubPackage("base", "9", architecture="all"),
    StubPackage("lost", "1.0", depends="nowhere"),
)


@pytest.fixture(scope="session")
def debs(tmp_path_factory: pytest.TempPathFactory) -> AptRepository:
    neuron = neuron_packages("2.28.1", "2.30.0", "2.31.1")
    return build(tmp_path_factory.mktemp("debs") / "repository", [*PACKAGES, *neuron])


@pytest.fixture
def repository(debs: AptRepository) -> Generator[Web]:
    """The package repository's server."""
    with serve(debs.folder) as web:
        yield web


@pytest.fixture
def vendor(tmp_path: Path) -> Generator[Web]:
    """Another vendor's server, without files."""
    folder = tmp_path / "vendor"
    folder.mkdir()
    with serve(folder) as web:
        yield web


@pytest.fixture
def sources(tmp_path: Path, repository: Web) -> Path:
    """A sources.list that names the repository."""
    file = tmp_path / "sources.list"
    file.write_text(f"deb [arch=amd64] {repository.url} stable main\n")
    return file


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_pages, "_PAUSE", 0.01)
