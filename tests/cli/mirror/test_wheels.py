"""Wheels and single files in the lock."""

import hashlib
import json
import socket
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from llm_fleet.cli.main import main
from tests.cli.mirror.conftest import Web

Capture = pytest.CaptureFixture[str]
SHA = hashlib.sha256(b"wheel").hexdigest()
NAMES = (
    "neuronx_cc-2.23.6484.0-cp310-cp310-linux_x86_64.whl",
    "neuronx_cc-2.23.6484.0-cp311-cp311-manylinux_2_28_aarch64.manylinux2014_aarch64.whl",
    "neuronx_cc-2.23.6484.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    "neuronx_cc-2.24.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    "neuronx_cc-2.23.6484.0.tar.gz",
)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "lock.json"


def lock(out: Path, *arguments: str, system: str = "ubuntu-24.04-amd64") -> list[dict[str, Any]]:
    assert main(["mirror", "lock", "--system", system, *arguments, "-o", str(out), "--force"]) == 0
    return json.loads(out.read_text())["files"]


def as_html(vendor: Web, names: tuple[str, ...] = NAMES, fragment: str = f"#sha256={SHA}") -> str:
    page = vendor.folder / "simple/neuronx-cc"
    page.mkdir(parents=True)
    links = "".join(f'<a href="../../files/{name}{fragment}" data-x>{name}</a>' for name in names)
    (page / "index").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    vendor.kinds["/simple/neuronx-cc/"] = "text/html"
    (vendor.folder / "files").mkdir()
    for name in names:
        (vendor.folder / "files" / name).write_bytes(b"wheel")
    return f"{vendor.url}/simple"


def as_json(vendor: Web) -> str:
    page = vendor.folder / "json/neuronx-cc"
    page.mkdir(parents=True)
    files = [{"filename": name, "url": f"/files/{name}", "hashes": {"sha256": SHA}, "size": 4711} for name in NAMES]
    (page / "index").write_text(json.dumps({"meta": {"api-version": "1.1"}, "files": files}))
    vendor.kinds["/json/neuronx-cc/"] = "application/vnd.pypi.simple.v1+json"
    return f"{vendor.url}/json/"


def test_a_wheel_from_an_html_index(vendor: Web, out: Path) -> None:
    (wheel,) = lock(out, "--wheels", "neuronx_cc==2.23.6484.0", "--index", as_html(vendor))
    assert wheel == {
        "name": "neuronx_cc",
        "version": "2.23.6484.0",
        "kind": "wheel",
        "system": "ubuntu-24.04-amd64",
        "url": f"{vendor.url}/files/{NAMES[2]}",
        "sha256": SHA,
        "size": 5,
        "requires": [],
    }


def test_a_wheel_from_a_json_index_for_another_python(vendor: Web, out: Path) -> None:
    (wheel,) = lock(out, "--wheels", "neuronx-cc==2.23.6484.0", "--index", as_json(vendor), "--python", "3.10")
    assert wheel["url"] == f"{vendor.url}/files/{NAMES[0]}"
    assert wheel["size"] == 4711


def test_a_wheel_for_another_architecture(vendor: Web, out: Path) -> None:
    arguments = ("--wheels", "neuronx-cc==2.23.6484.0", "--index", as_json(vendor), "--python", "3.11")
    (wheel,) = lock(out, *arguments, system="ubuntu-24.04-arm64")
    assert wheel["url"].endswith("_aarch64.whl")


def test_a_wheel_for_any_system(vendor: Web, out: Path) -> None:
    name = "neuronx_cc-1.0-py3-none-any.whl"
    (wheel,) = lock(out, "--wheels", "neuronx-cc==1.0", "--index", as_html(vendor, (name,)))
    assert wheel["system"] is None


def test_the_second_index_is_used_when_the_first_has_no_wheel(vendor: Web, out: Path) -> None:
    index = as_html(vendor)
    arguments = ("--index", f"{vendor.url}/empty", "--index", index)
    (wheel,) = lock(out, "--wheels", "neuronx-cc==2.24.0", *arguments)
    assert wheel["version"] == "2.24.0"


@pytest.mark.parametrize(
    ("wheel", "fragment", "reported"),
    [
        ("neuronx-cc==2.23", f"#sha256={SHA}", "no index has a wheel neuronx-cc 2.23"),
        ("neuronx-cc==2.24.0", "", "with a SHA-256"),
        ("neuronx-cc==2.24.0", f"#md5={SHA[:32]}", "with a SHA-256"),
        ("other==1.0", "", "no index has a wheel other 1.0"),
    ],
)
def test_a_missing_wheel_is_reported(
    vendor: Web, out: Path, capsys: Capture, wheel: str, fragment: str, reported: str
) -> None:
    text = refused(capsys, out, "--wheels", wheel, "--index", as_html(vendor, fragment=fragment))
    assert "[LF465]" in text
    assert reported in text


def test_an_unreachable_index_is_reported(out: Path, capsys: Capture) -> None:
    for index in ("http://127.0.0.1:9/simple", "https://127.0.0.1:x/simple", "ftp://x.example/simple"):
        assert "[LF465]" in refused(capsys, out, "--wheels", "a==1", "--index", index)


def refused(capsys: Capture, out: Path, *arguments: str) -> str:
    assert main(["mirror", "lock", "--system", "debian-13-amd64", *arguments, "-o", str(out)]) == 1
    assert not out.exists()
    return capsys.readouterr().err


@pytest.mark.parametrize("host", ["index.example", "10.0.0.7"])
def test_checksums_over_plain_http_are_not_trusted(out: Path, capsys: Capture, host: str) -> None:
    text = refused(capsys, out, "--wheels", "a==1", "--index", f"http://{host}/simple")
    assert "[LF465]" in text
    assert "must have an https URL" in text


@pytest.mark.parametrize("document", ["[]", "{}", '{"files": [{"hashes": {}}]}', '{"files": '])
def test_an_index_in_an_unknown_format_is_reported(vendor: Web, out: Path, capsys: Capture, document: str) -> None:
    (vendor.folder / "simple/a").mkdir(parents=True)
    (vendor.folder / "simple/a/index").write_text(document)
    vendor.kinds["/simple/a/"] = "application/vnd.pypi.simple.v1+json"
    assert "[LF465]" in refused(capsys, out, "--wheels", "a==1", "--index", f"{vendor.url}/simple")


def test_a_server_that_closes_the_connection_is_reported(out: Path, capsys: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        for code, arguments in (
            ("[LF467]", ("--file", "x", "1", f"{url}/x.tar.gz", "0" * 64)),
            ("[LF465]", ("--wheels", "a==1", "--index", f"{url}/simple")),
        ):
            hanging_up = Thread(target=lambda: server.accept()[0].close())
            hanging_up.start()
            assert code in refused(capsys, out, *arguments)
            hanging_up.join()


def test_a_file_named_with_its_checksum(vendor: Web, out: Path) -> None:
    for name in ("enroot.tar.gz", "mount-s3.rpm"):
        (vendor.folder / name).write_bytes(b"whatever")
    digest = hashlib.sha256(b"whatever").hexdigest()
    archive, package = lock(
        out,
        *("--file", "enroot", "4.0", f"{vendor.url}/enroot.tar.gz", digest),
        *("--file", "mount-s3", "1.23", f"{vendor.url}/mount-s3.rpm", digest),
        system="amzn-2023-x86_64",
    )
    assert (archive["kind"], archive["system"], archive["size"]) == ("archive", None, 8)
    assert (package["kind"], package["system"]) == ("rpm", "amzn-2023-x86_64")


def test_an_unreachable_file_is_reported(vendor: Web, out: Path, capsys: Capture) -> None:
    for url in (f"{vendor.url}/gone.tar.gz", "http://127.0.0.1:9/x", "http://127.0.0.1:x/x", "file:///etc/passwd"):
        command = ["mirror", "lock", "--system", "debian-13-amd64", "--file", "x", "1", url, "0" * 64, "-o", str(out)]
        assert main(command) == 1
        assert "[LF467]" in capsys.readouterr().err
