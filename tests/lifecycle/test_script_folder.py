"""Finding and reading scripts, and the hashes over them."""

import os
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet.lifecycle import script_folder
from llm_fleet.lifecycle.script_folder import (
    ScriptFile,
    bundle_files,
    checksums,
    content_hash,
    default_folder,
    read_folder,
    read_scripts,
    write_zip,
)

FILES = (
    ScriptFile(path="a.py", data=b"a", executable=False),
    ScriptFile(path="b.sh", data=b"b", executable=True),
)
MANIFEST = {"fleet": "demo", "mounts": [{"dns_name": "${Token[TOKEN.1]}"}]}


def test_the_scripts_of_the_checkout_are_found() -> None:
    assert default_folder() == Path(__file__).parents[2] / "lifecycle_scripts"


def test_the_scripts_of_an_installed_package_have_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "llm_fleet"
    inside = package / "lifecycle_scripts"
    inside.mkdir(parents=True)
    monkeypatch.setattr(script_folder, "_PACKAGE", package)
    assert default_folder() == inside


def test_a_broken_installation_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_folder, "_PACKAGE", tmp_path / "a" / "b")
    with pytest.raises(FileNotFoundError, match="install llm-fleet again"):
        default_folder()


def test_caches_hidden_files_and_links_are_not_read(tmp_path: Path) -> None:
    for path in ("b.sh", "sub/a.py", "__pycache__/a.pyc", "sub/__pycache__/b.pyc", "c.pyc", ".git/config", ".hidden"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(path)
    (tmp_path / "b.sh").chmod(0o755)
    (tmp_path / "to_file").symlink_to(tmp_path / "b.sh")
    (tmp_path / "to_folder").symlink_to(tmp_path / "sub")
    found = {file.path: (file.executable, file.link) for file in read_scripts(tmp_path)}
    assert found == {
        "b.sh": (True, False),
        "sub/a.py": (False, False),
        "to_file": (False, True),
        "to_folder": (False, True),
    }


def test_the_bundle_of_clusters_excludes_scripts_for_other_services() -> None:
    """Otherwise a change in these would publish every cluster's bundle again, and update the cluster."""
    ours, all_of_it = read_scripts(default_folder()), read_folder(default_folder())
    left_out = {file.path.partition("/")[0] for file in {*all_of_it} - {*ours}}
    assert left_out == {"inference_host", "notebook_instance", "studio", "workbench"}


def test_a_custom_folder_can_have_the_name_of_an_excluded_folder(tmp_path: Path) -> None:
    own = tmp_path / "own" / "inference_host"
    own.mkdir(parents=True)
    (own / "mine.sh").write_text("true\n")
    assert "own/inference_host/mine.sh" in {file.path for file in bundle_files(default_folder(), tmp_path / "own")}


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="no folder of lifecycle scripts"):
        read_scripts(tmp_path / "gone")


def test_the_checksum_list_is_what_sha256sum_reads() -> None:
    assert checksums(FILES[::-1]).splitlines() == [
        "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a.py",
        "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b.sh",
    ]


def test_the_hash_does_not_depend_on_the_numbers_of_tokens() -> None:
    other = {"fleet": "demo", "mounts": [{"dns_name": "${Token[Renamed.2]}"}]}
    assert content_hash(FILES, MANIFEST) == content_hash(FILES, other)


@pytest.mark.parametrize(
    "changed",
    [
        (replace(FILES[0], data=b"A"), FILES[1]),
        (replace(FILES[0], executable=True), FILES[1]),
        (replace(FILES[0], path="c.py"), FILES[1]),
        (FILES[0],),
    ],
    ids=["bytes", "run bit", "name", "one file less"],
)
def test_a_changed_script_is_a_new_hash(changed: tuple[ScriptFile, ...]) -> None:
    assert content_hash(changed, MANIFEST) != content_hash(FILES, MANIFEST)


@pytest.mark.parametrize(
    "changed",
    [
        {"fleet": "other", "mounts": MANIFEST["mounts"]},
        {"fleet": "demo", "mounts": []},
        {"fleet": "demo", "mounts": [{"dns_name": "fs-1.example"}]},
    ],
    ids=["value", "mount less", "literal in place of a token"],
)
def test_a_changed_manifest_is_a_new_hash(changed: dict[str, object]) -> None:
    assert content_hash(FILES, changed) != content_hash(FILES, MANIFEST)


def test_the_archive_is_reproducible_and_keeps_executable_bits(tmp_path: Path) -> None:
    write_zip(FILES, tmp_path / "1.zip")
    os.utime(tmp_path / "1.zip", (0, 0))
    write_zip(FILES, tmp_path / "2.zip", below="")
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "1.zip") as archive:
        modes = {entry.filename: stat.S_IMODE(entry.external_attr >> 16) for entry in archive.infolist()}
    assert modes == {"a.py": 0o644, "b.sh": 0o755}
