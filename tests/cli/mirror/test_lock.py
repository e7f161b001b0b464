"""`llm-fleet mirror lock`, with the real apt against a signed repository of this machine."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.main import main
from llm_fleet_local.drill.stand_ins.apt_repository import AptRepository, StubPackage, build
from tests.apt_programs import needs_apt
from tests.cli.mirror.conftest import Web, serve

pytestmark = needs_apt
SYSTEM = "debian-13-amd64"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "downloads.lock.json"


def lock(debs: AptRepository, sources: Path, out: Path, *more: str, system: str = SYSTEM) -> dict[str, dict[str, Any]]:
    """Lock, and return the files by name and version."""
    command = ["mirror", "lock", "--system", system, "--sources", str(sources), "--keyring", str(debs.keyring)]
    assert main([*command, "-o", str(out), *more]) == 0
    return read(out)


def read(out: Path) -> dict[str, dict[str, Any]]:
    return {f"{file['name']} {file['version']}": file for file in json.loads(out.read_text())["files"]}


def refused(capsys: Capture, *command: str) -> str:
    assert main(["mirror", "lock", *command]) == 1
    reported = capsys.readouterr().err
    assert "Traceback" not in reported
    return reported


def test_a_package_is_locked_with_its_dependencies(debs: AptRepository, sources: Path, out: Path) -> None:
    files = lock(debs, sources, out, "--packages", "tool")
    assert sorted(files) == ["base 9", "libthing1 1.5-2", "postman 1.0+b1", "tool 2:3.0-1"]
    tool = files["tool 2:3.0-1"]
    deb = debs.folder / "pool" / "tool_3.0-1_amd64.deb"
    assert tool["sha256"] == hashlib.sha256(deb.read_bytes()).hexdigest()
    assert tool["size"] == deb.stat().st_size
    assert tool["url"] == f"{sources.read_text().split()[2]}/pool/tool_3.0-1_amd64.deb"
    assert tool["system"] == SYSTEM
    assert tool["kind"] == "deb"
    assert tool["requires"] == ["base", "libthing1", "postman"], "by name, and by what one provides"
    assert files["base 9"]["requires"] == []


def test_two_runs_write_the_same_file(debs: AptRepository, sources: Path, out: Path, tmp_path: Path) -> None:
    lock(debs, sources, out, "--packages", "tool", "base")
    lock(debs, sources, tmp_path / "again.json", "--packages", "base", "tool")
    assert out.read_text() == (tmp_path / "again.json").read_text()


def test_an_older_version_may_be_pinned(debs: AptRepository, sources: Path, out: Path) -> None:
    assert sorted(lock(debs, sources, out, "--packages", "tool=2.0-1")) == ["libthing1 1.5-2", "tool 2:2.0-1"]


def test_packages_of_the_image_are_left_out(debs: AptRepository, sources: Path, out: Path, tmp_path: Path) -> None:
    status = tmp_path / "status"
    head = "Status: install ok installed\nArchitecture: amd64\nMaintainer: x\nDescription: x\n"
    status.write_text(f"Package: libthing1\nVersion: 1.5-2\n{head}\nPackage: base\nVersion: 9\n{head}")
    files = lock(debs, sources, out, "--packages", "tool", "--installed", str(status))
    assert sorted(files) == ["postman 1.0+b1", "tool 2:3.0-1"]


def test_a_neuron_release_is_locked_with_packages_for_newer_drivers(
    debs: AptRepository, sources: Path, out: Path
) -> None:
    files = lock(debs, sources, out, "--neuron", "2.28.1")
    assert sorted(name.split("-3")[0].split(" ")[0] for name in files) == sorted(
        ["aws-neuronx-dkms", *2 * ["aws-neuronx-runtime-lib", "aws-neuronx-collectives", "aws-neuronx-tools"]]
    )
    versions = {file["version"].split("-")[0] for file in files.values() if file["name"] == "aws-neuronx-runtime-lib"}
    assert versions == {"2.30.51.0", "2.33.10.0"}


def test_other_systems_can_be_kept(debs: AptRepository, sources: Path, out: Path, tmp_path: Path) -> None:
    lock(debs, sources, out, "--packages", "base")
    both = tmp_path / "both.json"
    lock(debs, sources, both, "--packages", "base", "--keep", str(out), system="ubuntu-24.04-amd64")
    assert [file["system"] for file in json.loads(both.read_text())["files"]] == [SYSTEM, "ubuntu-24.04-amd64"]


def test_a_file_is_not_overwritten(debs: AptRepository, sources: Path, out: Path, capsys: Capture) -> None:
    lock(debs, sources, out, "--packages", "base")
    before = out.read_text()
    reported = refused(
        capsys,
        *("--system", SYSTEM, "--sources", str(sources), "--keyring", str(debs.keyring)),
        *("-o", str(out), "--packages", "tool"),
    )
    assert "[LF160]" in reported
    assert out.read_text() == before
    lock(debs, sources, out, "--packages", "tool", "--force")
    assert out.read_text() != before


@pytest.mark.parametrize(
    ("package", "code", "reported"),
    [
        ("tol", "LF464", "unknown package tol"),
        ("tool=9", "LF464", "choose one of 2:3.0-1, 2:2.0-1"),
        ("lost", "LF464", "nowhere"),
    ],
)
def test_missing_packages_are_reported(
    debs: AptRepository, sources: Path, out: Path, capsys: Capture, package: str, code: str, reported: str
) -> None:
    common = ("--system", SYSTEM, "--sources", str(sources), "--keyring", str(debs.keyring), "-o", str(out))
    text = refused(capsys, *common, "--packages", package)
    assert f"[{code}]" in text
    assert reported in text
    assert not out.exists()


def test_a_repository_signed_with_another_key_is_rejected(
    sources: Path, out: Path, capsys: Capture, tmp_path: Path
) -> None:
    other = build(tmp_path / "other", [StubPackage("base", "9")])
    common = ("--system", SYSTEM, "--sources", str(sources), "-o", str(out), "--packages", "base")
    for keys in (("--keyring", str(other.keyring)), ()):
        text = refused(capsys, *common, *keys)
        assert "[LF463]" in text
        assert "NO_PUBKEY" in text
    assert not out.exists()


def test_an_unsigned_repository_is_rejected(out: Path, capsys: Capture, tmp_path: Path) -> None:
    other = build(tmp_path / "other", [StubPackage("base", "9")])
    for name in ("InRelease", "Release.gpg"):
        (other.folder / "dists/stable" / name).unlink()
    with serve(other.folder) as web:
        file = tmp_path / "unsigned.list"
        file.write_text(f"deb {web.url} stable main\n")
        common = ("--system", SYSTEM, "--sources", str(file), "--keyring", str(other.keyring), "-o", str(out))
        assert "[LF463]" in refused(capsys, *common, "--packages", "base")


@pytest.mark.parametrize("name", ["x.list", "x.sources"])
@pytest.mark.parametrize("option", ["trusted=yes", "trusted=true", "trusted=1", "Trusted: yes", "allow-insecure=on"])
def test_a_source_that_disables_signature_checks_is_rejected(
    out: Path, capsys: Capture, tmp_path: Path, name: str, option: str
) -> None:
    file = tmp_path / name
    file.write_text(f"deb [{option}] http://127.0.0.1:9 stable main\n")
    text = refused(capsys, "--system", SYSTEM, "--sources", str(file), "--packages", "base", "-o", str(out))
    assert "a source must not set whether apt verifies signatures" in text


def test_an_index_changed_after_it_was_signed_is_rejected(
    debs: AptRepository, out: Path, capsys: Capture, tmp_path: Path
) -> None:
    other = build(tmp_path / "other", [StubPackage("base", "9")])
    for index in (other.folder / "dists/stable/main/binary-amd64").iterdir():
        content = bytearray(index.read_bytes())
        content[-20] ^= 1
        index.write_bytes(content)
    with serve(other.folder) as web:
        file = tmp_path / "changed.list"
        file.write_text(f"deb {web.url} stable main\n")
        common = ("--system", SYSTEM, "--sources", str(file), "--keyring", str(other.keyring), "-o", str(out))
        assert "[LF463]" in refused(capsys, *common, "--packages", "base")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--system", SYSTEM), "LF464"),
        (("--system", "ubuntu", "--packages", "x"), "LF462"),
        (("--system", "amzn-2023-x86_64", "--packages", "x"), "LF462"),
        (("--system", SYSTEM, "--packages", "x"), "LF463"),
        (("--system", SYSTEM, "--neuron", "2.28"), "LF450"),
        (("--system", SYSTEM, "--sources", "/no/where.list", "--packages", "x"), "LF463"),
        (("--system", SYSTEM, "--wheels", "torch"), "LF465"),
        (("--system", SYSTEM, "--wheels", "torch==2"), "LF465"),
        (("--system", SYSTEM, "--wheels", "torch==2", "--python", "three"), "LF465"),
        (("--system", SYSTEM, "--file", "enroot", "4", "https://x.example/y", "abc"), "LF468"),
        (("--system", SYSTEM, "--packages", "x", "--keep", "/no/lock.json"), "LF427"),
    ],
)
def test_bad_input_has_its_code(out: Path, capsys: Capture, arguments: tuple[str, ...], code: str) -> None:
    assert f"[{code}]" in refused(capsys, *arguments, "-o", str(out))
    assert not out.exists()


def test_apt_settings_of_the_machine_have_no_effect(
    debs: AptRepository, sources: Path, out: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = tmp_path / "apt.conf"
    settings.write_text('Dir::Etc::sourcelist "/nowhere"; APT::Architecture "s390x";')
    monkeypatch.setenv("APT_CONFIG", str(settings))
    assert "base 9" in lock(debs, sources, out, "--packages", "base")


def test_a_machine_without_apt_is_reported(
    sources: Path, out: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, repository: Web
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    text = refused(capsys, "--system", SYSTEM, "--sources", str(sources), "--packages", "base", "-o", str(out))
    assert "[LF462]" in text
    assert "apt is not installed" in text
