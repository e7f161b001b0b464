"""What is on disk when a checkpoint gets its name: a node can lose power at any moment.

No test can turn off the power, so the system calls are recorded: which file or folder was synced, its size then, and
when.
"""

import os
from pathlib import Path

import pytest

from tests.llm_fleet_training.checkpoints.test_checkpoints import record


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> "list[tuple[str, str, int]]":
    """The recorded calls in order: `forced` or `renamed`, the path, and its size."""
    found: list[tuple[str, str, int]] = []
    fsync, rename = os.fsync, Path.rename

    def force(handle: int) -> None:
        found.append(("forced", os.readlink(f"/proc/self/fd/{handle}"), os.fstat(handle).st_size))
        fsync(handle)

    def move(path: Path, target: Path) -> Path:
        found.append(("renamed", str(path), 0))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", force)
    monkeypatch.setattr(Path, "rename", move)
    return found


def test_all_files_are_synced_before_the_rename(tmp_path: Path, reported: "list[tuple[str, str, int]]"):
    from llm_fleet_training.checkpoints.checkpoints import Checkpoints

    checkpoints = Checkpoints(tmp_path)
    part = checkpoints.begin(2)
    with part.open("model.bin") as stream:
        stream.write(b"weights")
    (part.folder / "distributed").mkdir()
    (part.folder / "distributed/shard").write_bytes(b"of a library")
    part.adopt("distributed/shard")
    done = checkpoints.commit(part, record(2), part.files)

    whole = (done.folder / "checkpoint.json").stat().st_size
    places = [(what, os.path.relpath(path, part.folder)) for what, path, _ in reported]
    last = places.index(("forced", "checkpoint.json"))
    before = places[:last]
    assert {("forced", name) for name in ("model.bin", "distributed/shard", "distributed", ".")} <= set(before)
    assert places[last:] == [("forced", "checkpoint.json"), ("forced", "."), ("renamed", "."), ("forced", "..")]
    sizes = {path.removeprefix(f"{part.folder}/"): size for _, path, size in reported}
    assert (sizes["model.bin"], sizes["distributed/shard"], sizes["checkpoint.json"]) == (7, 12, whole)


def test_restored_files_are_synced_too(
    tmp_path: Path, reported: "list[tuple[str, str, int]]", monkeypatch: pytest.MonkeyPatch
):
    from llm_fleet_training.checkpoints import restoring
    from llm_fleet_training.checkpoints.checkpoints import Checkpoints

    there = Checkpoints(tmp_path / "there")
    part = there.begin(2)
    with part.open("model.bin") as stream:
        stream.write(b"weights")
    done = there.commit(part, record(2), part.files)
    reported.clear()

    def fetch(_: str, __: int, folder: Path) -> bool:
        for path in done.folder.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        return True

    def listed(_: str) -> "list[int]":
        return [2]

    monkeypatch.setattr(restoring, "fetch", fetch)
    monkeypatch.setattr(restoring, "listed", listed)
    here = Checkpoints(tmp_path / "here")
    assert restoring.restore(here, "s3://bucket/run", print) == 2
    places = [(what, Path(path).name) for what, path, _ in reported]
    renamed = next(index for index, (what, _) in enumerate(places) if what == "renamed")
    assert {name for what, name in places[:renamed] if what == "forced"} >= {"model.bin", "checkpoint.json"}
    assert places[renamed + 1 :][-1] == ("forced", "here")
