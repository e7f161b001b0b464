"""Pinned files: selected for this system, downloaded from the manifest's source, verified and kept."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from llm_fleet_node import downloads as downloads_module
from llm_fleet_node.downloads import CACHE, fetch, fetch_files, find, is_version
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.manifest_parts import Download, Downloads
from llm_fleet_node.node import Node
from tests.lifecycle_scripts.convergence import assert_fails
from tests.lifecycle_scripts.packages.apt_root import MIRROR, lay_out, stored
from tests.lifecycle_scripts.step_node import download, file, make
from tests.pains.reported import reported

CONTENT = b"an archive\n"
ARCHIVE = download("enroot", CONTENT, "https://github.example/enroot-1.0.tar.gz?raw=1", kind="archive")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lay_out(tmp_path)
    place = tmp_path / "s3/mirror/our/debs" / ARCHIVE.sha256 / "enroot-1.0.tar.gz"
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT)
    return tmp_path


def node_of(root: Path, *files: Download, source: str = "mirror") -> Node:
    return make(root, downloads=Downloads(source, MIRROR + "/", files or (ARCHIVE,)))


def requested(root: Path) -> Sequence[str]:
    return (root / "requests").read_text().splitlines() if (root / "requests").exists() else []


def test_a_file_comes_from_the_mirror_by_its_checksum(root: Path) -> None:
    node = node_of(root)
    place = fetch(node, "enroot")
    assert place == root / f"{CACHE.lstrip('/')}/{ARCHIVE.sha256}/enroot-1.0.tar.gz"
    assert place.read_bytes() == CONTENT
    assert requested(root) == [f"{MIRROR}/{ARCHIVE.sha256}/enroot-1.0.tar.gz"]
    assert node.host.changes == ["downloaded enroot 1.0"]


def test_a_second_request_uses_the_cache(root: Path) -> None:
    fetch(node_of(root), "enroot")
    again = node_of(root)
    fetch(again, "enroot")
    assert len(requested(root)) == 1
    assert again.host.changes == []


def test_a_damaged_file_in_the_cache_is_downloaded_again(root: Path) -> None:
    place = fetch(node_of(root), "enroot")
    place.write_bytes(b"an ARCHIVE\n")
    assert fetch(node_of(root), "enroot").read_bytes() == CONTENT
    assert len(requested(root)) == 2


def test_a_killed_download_leaves_no_file_that_is_used(root: Path) -> None:
    place = root / f"{CACHE.lstrip('/')}/{ARCHIVE.sha256}/.enroot-1.0.tar.gz.part"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"an arch")
    assert fetch(node_of(root), "enroot").read_bytes() == CONTENT
    assert [path.name for path in place.parent.iterdir()] == ["enroot-1.0.tar.gz"]


def test_a_changed_file_is_rejected_and_deleted(root: Path) -> None:
    stored(root, ARCHIVE).parent.joinpath("enroot-1.0.tar.gz").write_bytes(b"an Archive\n")
    failure = assert_fails(Code.DOWNLOAD_CHECKSUM, fetch, node_of(root), "enroot", match="has 11 bytes with SHA-256")
    reported(2, failure, "do not use the file: run `llm-fleet mirror check`, find out who changed it")
    assert [path for path in (root / CACHE.lstrip("/")).rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("says", "code"),
    [
        (
            "fatal error: An error occurred (404) when calling the HeadObject operation: Not Found",
            Code.DOWNLOAD_NOT_FOUND,
        ),
        ("fatal error: An error occurred (NoSuchBucket) when calling the GetObject operation", Code.DOWNLOAD_NOT_FOUND),
        (
            "fatal error: An error occurred (403) when calling the HeadObject operation: Forbidden",
            Code.DOWNLOAD_DENIED,
        ),
        ("download failed: Unable to locate credentials", Code.DOWNLOAD_DENIED),
        ('fatal error: Could not connect to the endpoint URL: "https://mirror.s3…"', Code.DOWNLOAD_UNREACHABLE),
        ("fatal error: Connect timeout on endpoint URL", Code.DOWNLOAD_UNREACHABLE),
    ],
)
def test_errors_of_the_mirror_are_mapped_to_codes(root: Path, says: str, code: Code) -> None:
    file(root, "/says", says)
    failure = assert_fails(code, fetch, node_of(root), "enroot")
    assert failure.cause == f"{MIRROR}/{ARCHIVE.sha256}/enroot-1.0.tar.gz: {says}"


def test_a_mirror_that_lacks_the_file_is_reported(root: Path) -> None:
    (root / "s3/mirror/our/debs" / ARCHIVE.sha256 / "enroot-1.0.tar.gz").unlink()
    failure = assert_fails(Code.DOWNLOAD_NOT_FOUND, fetch, node_of(root), "enroot")
    assert failure.final


def test_a_node_without_the_aws_cli_is_reported(root: Path) -> None:
    (root / "usr/bin/aws").unlink()
    assert_fails(Code.DOWNLOAD_UNREACHABLE, fetch, node_of(root), "enroot", match="requires the AWS CLI")


@pytest.mark.parametrize("files", [(ARCHIVE,), (download("other", b"x", "https://x.example/y"),)])
def test_a_fleet_without_downloads_reports_it(root: Path, files: tuple[Download, ...]) -> None:
    with pytest.raises(Failure, match="downloads are off in this fleet") as failure:
        fetch(node_of(root, *files, source="none"), "enroot")
    assert failure.value.code is Code.PACKAGE_MISSING
    assert requested(root) == []


def test_a_full_disk_is_reported_before_the_download(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 11

    def usage(path: Path) -> type[Usage]:
        return Usage

    monkeypatch.setattr(downloads_module.shutil, "disk_usage", usage)
    big = download("enroot", CONTENT, "https://x.example/a", size=10_000)
    assert_fails(
        Code.DISK_FULL,
        fetch,
        node_of(root, big),
        "enroot",
        match="has 11 bytes free, but 1 files to download need 10500",
    )
    assert requested(root) == []


def test_files_are_downloaded_in_parallel_and_a_failure_is_reported(root: Path) -> None:
    files = [download(f"f{n}", b"%d" % n, f"https://x.example/f{n}.deb") for n in range(9)]
    for number, pinned in enumerate(files):
        stored(root, pinned).parent.mkdir()
        stored(root, pinned).write_bytes(b"%d" % number)
    places = fetch_files(node_of(root, *files), files)
    assert [place.read_text() for place in places] == [str(n) for n in range(9)]
    lost = download("lost", b"lost", "https://x.example/lost.deb")
    assert_fails(Code.DOWNLOAD_NOT_FOUND, fetch_files, node_of(root, *files, lost), [*files, lost], match="lost")


def test_the_file_for_this_system_is_found(root: Path) -> None:
    ours = download("tool", b"13", "https://x.example/13.deb", system="debian-13-amd64")
    theirs = download("tool", b"22", "https://x.example/22.deb", system="ubuntu-22.04-amd64")
    assert find(node_of(root, theirs, ours), "tool") is ours


def test_a_file_of_several_versions_must_be_named_with_one(root: Path) -> None:
    files = [
        download("rt", v.encode(), f"https://x.example/{v}.deb", version=v) for v in ("2.30.51.0-6a", "2.33.10.0-7b")
    ]
    node = node_of(root, *files)
    assert find(node, "rt", version="2.33.10.0") is files[1]
    assert_fails(
        Code.NOT_PINNED, find, node, "rt", match=r"pinned in several versions: 2.30.51.0-6a for any system, 2.33"
    )


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        ("2.30.51.0", "2.30.51.0", True),
        ("2.30.51.0-6a1f", "2.30.51.0", True),
        ("2.30.51.0_6a1f-1", "2.30.51.0", True),
        ("2:3.0-1", "3.0-1", True),
        ("2:3.0-1", "2:3.0-1", True),
        ("2.30.51.01", "2.30.51.0", False),
        ("2.30.5", "2.30.51.0", False),
        ("anything", "", True),
    ],
)
def test_a_version_without_its_last_part_matches(found: str, wanted: str, same: bool) -> None:
    assert is_version(found, wanted) is same
