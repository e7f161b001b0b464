"""Downloads from a vendor's server over an unreliable connection."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from llm_fleet_node.downloading import vendor
from llm_fleet_node.downloads import fetch
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.manifest_parts import Downloads
from llm_fleet_node.node import Node
from tests.lifecycle_scripts.convergence import assert_fails
from tests.lifecycle_scripts.packages.apt_root import lay_out
from tests.lifecycle_scripts.step_node import download, make, said

CONTENT = bytes(range(256)) * 4096


class Vendor(ThreadingHTTPServer):
    """Serves `content` in the way that `mood` selects, and records the requested ranges."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.mood: list[str] = []
        self.ranges: list[str] = []
        self.content = CONTENT

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/wheels/tool-1.0.whl"


class Handler(BaseHTTPRequestHandler):
    @property
    def vendor(self) -> Vendor:
        assert isinstance(self.server, Vendor)
        return self.server

    def do_GET(self) -> None:
        mood = self.vendor.mood.pop(0) if self.vendor.mood else "good"
        requested = self.headers.get("Range", "")
        self.vendor.ranges.append(requested)
        start = int(re.fullmatch(r"bytes=(\d+)-", requested).group(1)) if requested and mood != "whole" else 0  # type: ignore[reportOptionalMemberAccess]
        if mood.isdigit():
            self.send_error(int(mood))
            return
        body = self.vendor.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if mood == "cut" else body)
        self.wfile.flush()
        if mood == "cut":
            self.connection.close()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendor]:
    monkeypatch.setattr(vendor, "_PAUSE", 0.01)
    with Vendor() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asking(root: Path, server: Vendor, content: bytes = CONTENT) -> Node:
    lay_out(root)
    pinned = download("tool", content, server.url, kind="wheel")
    return make(root, downloads=Downloads("vendor", None, (pinned,)))


def get(root: Path, server: Vendor, content: bytes = CONTENT) -> Path:
    return fetch(asking(root, server, content), "tool")


def test_a_file_is_downloaded_completely(tmp_path: Path, server: Vendor) -> None:
    place = get(tmp_path, server)
    assert place.read_bytes() == CONTENT
    assert place.name == "tool-1.0.whl"
    assert server.ranges == [""]


def test_an_interrupted_download_is_resumed(tmp_path: Path, server: Vendor) -> None:
    server.mood = ["cut", "cut"]
    node = asking(tmp_path, server)
    assert fetch(node, "tool").read_bytes() == CONTENT
    half = len(CONTENT) // 2
    assert server.ranges == ["", f"bytes={half}-", f"bytes={half + half // 2}-"]
    assert "trying again" in said(node)


def test_a_server_without_ranges_restarts_the_download(tmp_path: Path, server: Vendor) -> None:
    server.mood = ["cut", "whole"]
    assert get(tmp_path, server).read_bytes() == CONTENT


@pytest.mark.parametrize("mood", [["503"], ["429", "500"], ["cut", "416"]])
def test_a_busy_server_is_retried(tmp_path: Path, server: Vendor, mood: list[str]) -> None:
    server.mood = mood
    assert get(tmp_path, server).read_bytes() == CONTENT


@pytest.mark.parametrize("status", ["404", "403", "410"])
def test_a_missing_file_is_reported_without_retry(tmp_path: Path, server: Vendor, status: str) -> None:
    server.mood = [status] * 9
    assert_fails(Code.DOWNLOAD_NOT_FOUND, get, tmp_path, server, match=f"the server returned {status}")
    assert len(server.ranges) == 1


def test_a_server_that_stays_down_is_reported(tmp_path: Path, server: Vendor) -> None:
    server.mood = ["503"] * 9
    assert_fails(Code.DOWNLOAD_UNREACHABLE, get, tmp_path, server, match="503")
    assert len(server.ranges) == 4


def test_an_unreachable_server_is_reported(tmp_path: Path, server: Vendor) -> None:
    lay_out(tmp_path)
    pinned = download("tool", CONTENT, "http://127.0.0.1:9/tool.whl")
    with pytest.raises(Failure, match="refused") as failure:
        fetch(make(tmp_path, downloads=Downloads("vendor", None, (pinned,))), "tool")
    assert failure.value.code is Code.DOWNLOAD_UNREACHABLE


def test_a_file_with_another_checksum_is_rejected_and_downloaded_again(tmp_path: Path, server: Vendor) -> None:
    server.content = CONTENT[::-1]
    assert_fails(Code.DOWNLOAD_CHECKSUM, get, tmp_path, server)
    server.content = CONTENT
    fetched = fetch(
        make(tmp_path, downloads=Downloads("vendor", None, (download("tool", CONTENT, server.url, kind="wheel"),))),
        "tool",
    )
    assert fetched.read_bytes() == CONTENT


def test_a_file_longer_than_pinned_is_rejected(tmp_path: Path, server: Vendor) -> None:
    assert_fails(Code.DOWNLOAD_CHECKSUM, get, tmp_path, server, CONTENT[:100], match="more than the pinned 100 bytes")


def test_a_too_slow_download_is_ended(tmp_path: Path, server: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendor, "_SECONDS", -100.0)
    assert_fails(Code.DOWNLOAD_UNREACHABLE, get, tmp_path, server, match="timeout")
