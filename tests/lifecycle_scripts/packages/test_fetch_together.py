"""Many files of the mirror in one call; a missing or changed file is requested individually."""

from pathlib import Path

import pytest

from llm_fleet_node.downloads import CACHE, fetch_files
from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest_parts import Download, Downloads
from llm_fleet_node.node import Node
from tests.lifecycle_scripts.step_node import download, make, program, said

FAKE = Path(__file__).parents[1] / "fakes/aws.py"
FILES = tuple(download(f"a{n}", f"content {n}".encode(), f"https://vendor.example/a+{n}.whl") for n in range(6))


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setenv("FAKE_AWS", str(tmp_path))
    # A single file is requested with options behind the verb, which this fake rejects.
    program(tmp_path, "aws", f"os.execv(sys.executable, [sys.executable, {str(FAKE)!r}, *a])")
    for one in FILES:
        stored(tmp_path, one).parent.mkdir(parents=True)
        stored(tmp_path, one).write_text(f"content {one.name[1:]}")
    (tmp_path / "s3/mirror/wheels/other").mkdir()
    (tmp_path / "s3/mirror/wheels/other/large").write_text("not requested")
    return make(tmp_path, downloads=Downloads("mirror", "s3://mirror/wheels", FILES))


def stored(root: Path, one: Download) -> Path:
    return root / "s3/mirror/wheels" / one.sha256 / f"a+{one.name[1:]}.whl"


def calls(root: Path) -> int:
    return len((root / "calls").read_text().splitlines())


def test_many_files_are_downloaded_with_one_call(tmp_path: Path, node: Node) -> None:
    places = fetch_files(node, FILES)
    assert [place.read_text() for place in places] == [f"content {n}" for n in range(6)]
    assert [place.name for place in places] == [f"a+{n}.whl" for n in range(6)]
    assert calls(tmp_path) == 1
    assert {path.name for path in (tmp_path / CACHE.lstrip("/")).iterdir()} == {one.sha256 for one in FILES}
    assert len(node.host.changes) == 6
    assert fetch_files(node, FILES) == places
    assert calls(tmp_path) == 1


def test_changed_and_missing_files_are_requested_individually(tmp_path: Path, node: Node) -> None:
    stored(tmp_path, FILES[2]).write_text("changed!!")
    with pytest.raises(Failure, match=r"a\+2\.whl"):
        fetch_files(node, FILES)
    cache = tmp_path / CACHE.lstrip("/")
    kept = {path.parent.name for path in cache.glob("*/a+*.whl")}
    assert kept == {one.sha256 for one in FILES} - {FILES[2].sha256}
    assert not list(cache.glob(".arriving-*"))


def test_after_a_failed_call_each_file_is_requested_individually(tmp_path: Path, node: Node) -> None:
    (tmp_path / "fail.s3").write_text("AccessDenied")
    with pytest.raises(Failure):
        fetch_files(node, FILES)
    assert "downloading 6 files in one call failed; downloading them one by one" in said(node)


def test_leftovers_of_a_killed_download_are_removed(tmp_path: Path, node: Node) -> None:
    for process in ("4194303", "1"):
        (tmp_path / CACHE.lstrip("/") / f".arriving-{process}").mkdir(parents=True)
    fetch_files(node, FILES)
    assert [path.name for path in (tmp_path / CACHE.lstrip("/")).glob(".arriving-*")] == [".arriving-1"]
