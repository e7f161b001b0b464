"""From a signed repository to a node: the node installs the files that the command pins and mirrors."""

import json
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest

from llm_fleet.cli.main import main
from llm_fleet.rules.downloads_lock import mirror_key
from llm_fleet_local.drill.stand_ins.apt_repository import StubPackage
from llm_fleet_node.downloading.file_name import file_name
from llm_fleet_node.manifest_parts import Download, Downloads
from llm_fleet_node.packages import install, installed_version
from llm_fleet_node.schema import violations
from tests.apt_programs import needs_apt
from tests.lifecycle_scripts.packages.apt_root import MIRROR, lay_out, repository
from tests.lifecycle_scripts.step_node import download, make
from tools.synth_environment import ROOT


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@needs_apt
def test_a_node_installs_the_pinned_and_mirrored_files(tmp_path: Path) -> None:
    debs = repository(
        tmp_path,
        StubPackage("libthing1", "1.5-2+deb13u1"),
        StubPackage("tool", "2:3.0-1", depends="libthing1 (>= 1.5), mailer"),
        StubPackage("postman", "1.0", provides="mailer"),
    )
    root, lock = tmp_path / "node", tmp_path / "downloads.lock.json"
    lay_out(root)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(debs.folder))) as server:
        Thread(target=server.serve_forever, daemon=True, kwargs={"poll_interval": 0.01}).start()
        sources = tmp_path / "sources.list"
        sources.write_text(f"deb http://127.0.0.1:{server.server_address[1]} stable main\n")
        common = ["--system", "debian-13-amd64", "--sources", str(sources), "--keyring", str(debs.keyring)]
        assert main(["mirror", "lock", *common, "--packages", "tool", "-o", str(lock)]) == 0
        place = root / "s3" / MIRROR.removeprefix("s3://")
        assert main(["mirror", "build", "--lock", str(lock), "--to", str(place)]) == 0
        server.shutdown()
    entries: list[dict[str, Any]] = json.loads(lock.read_text())["files"]
    schema = json.loads((ROOT / "lifecycle_scripts/fleet.schema.json").read_text())
    assert [wrong for entry in entries for wrong in violations(entry, schema["$defs"]["download"], schema)] == []
    files = tuple(Download(**{name: _frozen(value) for name, value in entry.items()}) for entry in entries)
    node = make(root, downloads=Downloads("mirror", MIRROR, files))
    install(node, ["tool"])
    assert installed_version(node.host, "tool") == "2:3.0-1"
    assert installed_version(node.host, "libthing1") == "1.5-2+deb13u1"
    assert installed_version(node.host, "postman") == "1.0"


def _frozen(value: Any) -> Any:
    return tuple(cast("list[str]", value)) if isinstance(value, list) else value


@pytest.mark.parametrize(
    "url",
    [
        "https://x.example/pool/tool_3.0-1_amd64.deb",
        "https://x.example/pool/slurmd_24.11.5-4%2bdeb13u1_amd64.deb",
        "https://x.example/pool/a~b+c_1%3a2.deb",
        "https://x.example/archive.tar.gz?raw=1#part",
        "https://x.example/files/",
        "https://x.example/a%2Fb.whl",
    ],
)
def test_node_and_command_use_the_same_path(url: str) -> None:
    pinned = download("x", b"x", url)
    assert mirror_key(url, pinned.sha256) == f"{pinned.sha256}/{file_name(pinned)}"
