"""`llm-fleet mirror build` and `check`, into a directory and into the AWS emulator's S3."""

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.main import main
from llm_fleet.cli.mirror.index_pages import sha256_of
from llm_fleet_local.aws.client import LocalAws
from tests.cli.mirror.conftest import Web

Capture = pytest.CaptureFixture[str]
CONTENTS = {"a_1.0+b1_amd64.deb": b"a" * 5000, "b.whl": b"b" * 70_000, "c.tar.gz": b"c"}


@pytest.fixture
def lock(vendor: Web, tmp_path: Path) -> Path:
    """A lock file of the vendor's files."""
    files: list[dict[str, Any]] = []
    for name, content in CONTENTS.items():
        (vendor.folder / name.replace("+", "%2b")).write_bytes(content)
        file: dict[str, Any] = {
            "name": name.partition(".")[0],
            "version": "1.0",
            "kind": "archive",
            "system": None,
            "requires": [],
        }
        url = f"{vendor.url}/{name.replace('+', '%2b')}"
        digest = sha256_of(vendor.folder / name.replace("+", "%2b"))
        files.append({**file, "url": url, "sha256": digest, "size": len(content)})
    path = tmp_path / "downloads.lock.json"
    path.write_text(json.dumps({"schema_version": 1, "files": files}))
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


def run(verb: str, lock: Path, place: object, *more: str) -> int:
    return main(["mirror", verb, "--lock", str(lock), "--to", str(place), *more])


def stored(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_a_mirror_holds_each_file_by_its_checksum(lock: Path, place: Path, capsys: Capture) -> None:
    assert run("build", lock, place) == 0
    reported = capsys.readouterr().err
    assert "3/3" in reported
    assert f"{place}: 3 files uploaded, 0 existed already" in reported
    assert stored(place) == CONTENTS
    digest = sha256_of(place.parent / "vendor" / "c.tar.gz")
    assert (place / digest / "c.tar.gz").read_bytes() == b"c"
    assert run("check", lock, place) == 0
    assert "all 3 files exist and are unchanged" in capsys.readouterr().out


def test_existing_files_are_not_downloaded_again(lock: Path, place: Path, vendor: Web, capsys: Capture) -> None:
    run("build", lock, place)
    requested = len(vendor.requested)
    next(place.rglob("b.whl")).unlink()
    assert run("build", lock, place) == 0
    assert vendor.requested[requested:] == ["/b.whl"]
    assert "1 files uploaded, 2 existed already" in capsys.readouterr().err


def test_an_interrupted_download_is_continued(lock: Path, place: Path, vendor: Web) -> None:
    vendor.moods = ["cut", "cut", "cut", "503"]
    assert run("build", lock, place) == 0
    assert stored(place) == CONTENTS
    assert any("bytes=" in requested for requested in vendor.requested)


def test_all_errors_are_reported_and_the_other_files_are_stored(
    lock: Path, place: Path, vendor: Web, capsys: Capture
) -> None:
    (vendor.folder / "b.whl").unlink()
    (vendor.folder / "c.tar.gz").write_bytes(b"C")
    assert run("build", lock, place) == 1
    reported = capsys.readouterr().err
    assert "2 problems in the mirror" in reported
    assert "[LF467]" in reported
    assert "[LF468]" in reported
    assert list(stored(place)) == ["a_1.0+b1_amd64.deb"]
    assert run("check", lock, place) == 1
    assert "the file is not in the mirror" in capsys.readouterr().err


def test_an_interrupted_run_continues_with_its_cache(lock: Path, place: Path, vendor: Web, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder")
    cache = tmp_path / "cache"
    assert run("build", lock, blocked, "--cache", str(cache)) == 1
    requested = len(vendor.requested)
    assert run("build", lock, place, "--cache", str(cache)) == 0
    assert len(vendor.requested) == requested
    assert stored(place) == CONTENTS


def test_a_file_changed_in_the_mirror_is_reported(lock: Path, place: Path, capsys: Capture) -> None:
    run("build", lock, place)
    changed = next(place.rglob("b.whl"))
    changed.write_bytes(b"B" * 70_000)
    assert run("check", lock, place, "--quick") == 0
    assert run("check", lock, place) == 1
    assert "its SHA-256 is" in capsys.readouterr().err
    changed.write_bytes(b"B")
    assert run("check", lock, place, "--quick") == 1
    assert "it has 1 bytes instead of the pinned 70000" in capsys.readouterr().err
    assert run("build", lock, place) == 0, "a file of another size is uploaded again"
    assert run("check", lock, place) == 0


@pytest.mark.parametrize("place", ["https://x.example/mirror", "s3://UPPER/x", "s3://", "s3:/ours/x", ""])
def test_an_invalid_place_of_a_mirror_is_reported(lock: Path, capsys: Capture, place: str) -> None:
    assert run("build", lock, place) == 1
    assert "[LF466]" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{}", '{"schema_version": 1}', '{"schema_version": 2, "files": []}', "[1]"])
def test_an_invalid_lock_file_is_reported(tmp_path: Path, place: Path, capsys: Capture, text: str) -> None:
    path = tmp_path / "lock.json"
    path.write_text(text)
    for verb in ("build", "check"):
        assert run(verb, path, place) == 1
        assert "[LF427]" in capsys.readouterr().err


@pytest.fixture(scope="module")
def aws() -> Generator[LocalAws]:
    with LocalAws(region="us-west-2") as started:
        started.client("s3").create_bucket(
            Bucket="our-mirror", CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
        )
        yield started


@pytest.fixture
def settings(aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in aws.environment.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("settings")
def test_a_mirror_in_s3(lock: Path, aws: LocalAws, vendor: Web, capsys: Capture) -> None:
    place = "s3://our-mirror/nodes/debs"
    assert run("build", lock, place) == 0
    client = aws.client("s3")
    listed = client.list_objects_v2(Bucket="our-mirror")["Contents"]
    digest = sha256_of(vendor.folder / "c.tar.gz")
    assert f"nodes/debs/{digest}/c.tar.gz" in [item["Key"] for item in listed]
    requested = len(vendor.requested)
    assert run("build", lock, place) == 0
    assert len(vendor.requested) == requested
    assert run("check", lock, place) == 0
    client.put_object(Bucket="our-mirror", Key=f"nodes/debs/{digest}/c.tar.gz", Body=b"C")
    capsys.readouterr()
    assert run("check", lock, place) == 1
    assert "[LF468]" in capsys.readouterr().err


@pytest.mark.usefixtures("settings")
def test_a_missing_bucket_is_reported(lock: Path, capsys: Capture) -> None:
    assert run("build", lock, "s3://no-such-bucket/x") == 1
    reported = capsys.readouterr().err
    assert "[LF469]" in reported
    assert "NoSuchBucket" in reported


def test_a_cache_that_is_not_a_directory_is_reported(lock: Path, place: Path, capsys: Capture) -> None:
    assert run("build", lock, place, "--cache", str(lock)) == 1
    assert "[LF469]" in capsys.readouterr().err


def test_wrong_aws_settings_are_reported(lock: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    assert run("check", lock, "s3://our-mirror/x") == 1
    monkeypatch.delenv("AWS_PROFILE")
    assert run("check", lock, "s3://our-mirror/x", "--region", "no where") == 1
    assert capsys.readouterr().err.count("[LF469]") == 2


def test_a_mirror_in_s3_without_boto3_is_reported(lock: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert run("check", lock, "s3://our-mirror/x") == 1
    assert "llm-fleet[mirror]" in capsys.readouterr().err
