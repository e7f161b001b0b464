"""Batch files and program on shared storage: a version for each bundle, complete or missing, never changed."""

import os
import shutil
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.steps.training_programs import STEP
from llm_fleet_node.training import programs, storage
from tests.lifecycle_scripts.convergence import KilledError, again, applied, assert_fails, converges
from tests.lifecycle_scripts.step_node import file
from tests.lifecycle_scripts.training.training_node import BUNDLE, CONTROLLER, FOLDER, make

HERE = f"{FOLDER}/programs"


def version(node: Node) -> Path:
    return node.host.path(HERE) / programs.of_node(node)


def test_the_bundles_folders_and_the_runs_folder_are_made(tmp_path: Path) -> None:
    node = make(tmp_path)
    STEP.apply(node)
    STEP.verify(node)
    found = {path.relative_to(version(node)).as_posix(): path for path in version(node).rglob("*") if path.is_file()}
    assert found.keys() == {*BUNDLE, programs.MARKER}
    assert all(found[path].read_text() == text for path, text in BUNDLE.items())
    assert {path.stat().st_mode & 0o777 for path in found.values()} == {0o644, 0o755}
    assert (tmp_path / "fsx/runs").stat().st_mode & 0o7777 == 0o1777
    for name in ("environments", "locks", "programs"):
        assert node.host.path(f"{FOLDER}/{name}").stat().st_mode & 0o7777 == 0o755
    assert os.readlink(node.host.path(f"{HERE}/current")) == version(node).name


def test_a_second_node_changes_nothing(tmp_path: Path) -> None:
    STEP.apply(make(tmp_path))
    other = make(tmp_path, group=CONTROLLER)
    STEP.apply(other)
    STEP.verify(other)
    assert other.host.changes == []


def test_another_bundle_gets_another_folder_and_jobs_keep_theirs(tmp_path: Path) -> None:
    before = make(tmp_path)
    STEP.apply(before)
    old = version(before)
    file(tmp_path, "/bundle/jobs/train.sbatch", "#!/bin/bash\n# better\n")
    after = again(before)
    STEP.apply(after)
    assert version(after) != old
    assert (old / "jobs/train.sbatch").read_text() == BUNDLE["jobs/train.sbatch"]
    assert os.readlink(after.host.path(f"{HERE}/current")) == version(after).name
    file(tmp_path, "/bundle/jobs/train.sbatch", BUNDLE["jobs/train.sbatch"])
    back = again(after)  # a node with the old bundle starts again
    STEP.apply(back)
    STEP.verify(back)
    assert back.host.changes == [], "`current` is always a link to the newest version"


def test_python_caches_are_not_copied(tmp_path: Path) -> None:
    node = make(tmp_path)
    name = programs.of_node(node)
    file(tmp_path, "/bundle/llm_fleet_training/__pycache__/a.pyc", "x")
    assert programs.of_node(node) == name


@pytest.mark.parametrize("name", ["jobs", "llm_fleet_training"])
def test_a_bundle_without_one_of_the_folders_is_a_failure(tmp_path: Path, name: str) -> None:
    node = make(tmp_path)
    shutil.rmtree(tmp_path / "bundle" / name)
    with pytest.raises(Failure, match=f"LFN132 .* has no {name}/") as reported:
        STEP.apply(node)
    assert reported.value.final


def spoil_content(folder: Path) -> None:
    (folder / "jobs/train.sbatch").write_text("rm -rf /\n")


def spoil_file(folder: Path) -> None:
    (folder / "jobs/train.sbatch").unlink()


def spoil_marker(folder: Path) -> None:
    (folder / programs.MARKER).write_text("")


@pytest.mark.parametrize("spoil", [spoil_content, spoil_file, spoil_marker, shutil.rmtree])
def test_an_incomplete_copy_is_reported_and_fixed(tmp_path: Path, spoil: object) -> None:
    node = make(tmp_path)
    STEP.apply(node)
    assert callable(spoil)
    spoil(version(node))
    with pytest.raises(Failure, match="LFN132"):
        STEP.verify(node)
    assert applied(STEP, node)
    assert applied(STEP, node) == []


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_790_000_000.0)
    lock = f"/fsx/llm-fleet/locks/programs-{programs.of_node(make(tmp_path / 'node'))}"
    shutil.rmtree(tmp_path / "node")
    ignored = [f"{lock}.{number:08d}" for number in range(1, 4)]  # each holder has a number of its own
    assert converges(STEP, make, tmp_path, ignore=ignored) == 8


def test_an_incomplete_copy_of_a_killed_node_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = make(tmp_path)
    monkeypatch.setattr(os, "rename", kill)
    with pytest.raises(KilledError):
        STEP.apply(node)
    assert not version(node).exists()
    monkeypatch.undo()
    STEP.apply(again(node))
    STEP.verify(node)
    assert sorted(path.name for path in version(node).parent.iterdir()) == sorted([version(node).name, "current"])


def kill(*_: object) -> None:
    raise KilledError


def test_full_shared_storage_is_reported_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    assert_fails(Code.SHARED_FULL, STEP.apply, make(tmp_path), match="LFN131")


def test_storage_errors_are_reported_with_the_path(tmp_path: Path) -> None:
    file(tmp_path, FOLDER, "a file in the way")
    with pytest.raises(Failure, match=r"LFN130 .*/fsx/llm-fleet"):
        STEP.apply(make(tmp_path))
    read_only = OSError(30, os.strerror(30), "/fsx/llm-fleet/locks")
    assert str(storage.as_failure(read_only, "/fsx")).startswith("LFN130  /fsx/llm-fleet/locks: Read-only file system")


@pytest.mark.parametrize(
    ("kind", "is_reported"), [("ext4", True), ("xfs", True), ("nfs4", False), ("lustre", False), ("fuse.x", False)]
)
def test_a_folder_on_a_local_disk_is_rejected(tmp_path: Path, kind: str, is_reported: bool) -> None:
    """Only if the manifest has no file system there: others are verified by their own step."""
    mountinfo = f"1 0 8:1 / / rw - ext4 /dev/root rw\n2 1 0:9 / /fsx rw - {kind} server rw\n"
    for node in (make(tmp_path, mounts=()), make(tmp_path, mounts=(), group=CONTROLLER)):
        file(tmp_path, "/proc/self/mountinfo", mountinfo)
        if is_reported and node.role != "Controller":
            with pytest.raises(Failure, match=f"LFN130 .*{kind}.*a local disk of this node"):
                STEP.apply(node)
        else:
            STEP.apply(node)


def test_no_folder_for_runs_is_made_outside_of_the_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the training folder is the root of a file system, its parent folder is on the node's own disk."""
    node = make(tmp_path)
    real = Path.stat

    def stat(path: Path, **more: bool) -> os.stat_result:
        found = real(path, **more)
        if path != node.host.path(FOLDER):
            return found
        return os.stat_result((found.st_mode, found.st_ino, found.st_dev + 1, *found[3:]))

    monkeypatch.setattr(Path, "stat", stat)
    STEP.apply(node)
    STEP.verify(node)
    assert not (tmp_path / "fsx/runs").exists()
