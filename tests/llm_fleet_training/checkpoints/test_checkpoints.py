"""The checkpoint folder, without PyTorch: checkpoints are complete or missing, also on a full or read-only disk."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.llm_fleet_training.runs import ROOT, Run


def record(step: int) -> Any:
    from llm_fleet_training.checkpoints.record import Record

    return Record(step, "cpu", "tensor-slices", "f00d", {}, {"tensor": 1}, 1, 7, step * 64)


def written(folder: Path, step: int, data: bytes = b"weights", attempt: str = "a") -> Any:
    from llm_fleet_training.checkpoints.checkpoints import Checkpoints

    checkpoints = Checkpoints(folder, attempt)
    part = checkpoints.begin(step)
    with part.open("model.bin") as stream:
        stream.write(data)
    return checkpoints.commit(part, record(step), part.files)


def test_a_committed_checkpoint_is_found_with_its_size(tmp_path: Path):
    from llm_fleet_training.checkpoints.checkpoints import Checkpoints

    written(tmp_path, 2)
    done = written(tmp_path, 4, b"x" * 10_000_000)
    checkpoints = Checkpoints(tmp_path)
    found, passed = checkpoints.newest_complete()
    assert (found, passed) == (done, [])
    assert checkpoints.damage(done) == []
    (done.folder / "model.bin").write_bytes(b"x" * 9_999_999 + b"y")
    assert checkpoints.damage(done) == ["model.bin is damaged: its SHA-256 differs from the record"]
    assert checkpoints.damage(done, share=1, of=2) == [], "another process checks it"
    older, _ = checkpoints.newest_complete(before=4)
    assert older
    assert older.step == 2


def test_each_file_is_read_by_one_of_the_processes(tmp_path: Path):
    from llm_fleet_training.checkpoints.checkpoints import Checkpoints

    checkpoints = Checkpoints(tmp_path)
    part = checkpoints.begin(2)
    for name in "abc":
        with part.open(name) as stream:
            stream.write(b"weights")
    done = checkpoints.commit(part, record(2), part.files)
    for name in "abc":
        (done.folder / name).write_bytes(b"w3ights")
    for world in (1, 2, 4):
        reported = [line[0] for rank in range(world) for line in checkpoints.damage(done, share=rank, of=world)]
        assert sorted(reported) == ["a", "b", "c"], world


def test_a_missing_file_prevents_the_commit(tmp_path: Path):
    from llm_fleet_training.checkpoints.checkpoints import Checkpoints
    from llm_fleet_training.checkpoints.record import FileRecord
    from llm_fleet_training.failures import Failure

    checkpoints = Checkpoints(tmp_path)
    part = checkpoints.begin(2)
    with pytest.raises(Failure, match=r"other\.bin, of which 5 bytes were written, is missing") as failure:
        checkpoints.commit(part, record(2), {"other.bin": FileRecord(5, "")})
    assert failure.value.code.code == "LFJ15"
    assert checkpoints.steps() == []


def test_only_leftovers_of_other_attempts_are_removed(tmp_path: Path):
    from llm_fleet_training.checkpoints.checkpoints import Checkpoints

    written(tmp_path, 2)
    Checkpoints(tmp_path, "died").begin(4)
    (tmp_path / ".step_00000001.x.gone").mkdir()
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".cache").mkdir()
    assert Checkpoints(tmp_path, "b").tidy() == [".step_00000001.x.gone", ".step_00000004.died.part"]
    assert sorted(place.name for place in tmp_path.iterdir()) == [".cache", "notes.txt", "step_00000002"]


def test_a_damaged_newer_checkpoint_does_not_prune_complete_ones(tmp_path: Path):
    from llm_fleet_training.checkpoints.checkpoints import Checkpoints

    for step in (10, 20, 40):
        written(tmp_path, step)
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.prune(1, newest=20) == [10]
    assert checkpoints.steps() == [20, 40]
    assert checkpoints.prune(1, newest=40, in_use=[20]) == []


def test_a_held_checkpoint_is_kept_until_its_release_or_for_a_day(tmp_path: Path):
    import os

    from llm_fleet_training.checkpoints.checkpoints import HOLD_SECONDS, Checkpoints

    for step in (2, 4):
        written(tmp_path, step)
    checkpoints = Checkpoints(tmp_path)
    marker = checkpoints.hold(2)
    assert checkpoints.prune(1, newest=4) == []
    long_ago = marker.stat().st_mtime - HOLD_SECONDS - 1
    os.utime(marker, (long_ago, long_ago))
    assert checkpoints.prune(1, newest=4) == [2]


def test_a_partly_removed_folder_is_not_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A process that is killed during a removal, here before its first file."""
    from llm_fleet_training.checkpoints import checkpoints as module

    for step in (2, 4):
        written(tmp_path, step)

    def died(*given: Any, **more: Any) -> None: ...

    with monkeypatch.context() as patch:
        patch.setattr(module.shutil, "rmtree", died)
        assert module.Checkpoints(tmp_path).prune(1, newest=4) == [2]
    assert module.Checkpoints(tmp_path).steps() == [4]
    (left,) = module.Checkpoints(tmp_path).tidy()
    assert left.startswith(".step_00000002.by-hand-")
    assert [place.name for place in tmp_path.iterdir()] == ["step_00000004"]


def test_a_rewritten_step_replaces_the_damaged_checkpoint(tmp_path: Path):
    written(tmp_path, 4, b"old")
    assert (written(tmp_path, 4, b"new", "b").folder / "model.bin").read_bytes() == b"new"
    assert [place.name for place in tmp_path.iterdir()] == ["step_00000004"]


PROGRAM = """
import sys
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
from llm_fleet_training.checkpoints.checkpoints import Checkpoints
from llm_fleet_training.failures import Failure
from llm_fleet_training.training.folder import of_error, room, writable
from tests.llm_fleet_training.checkpoints.test_checkpoints import written
folder = Path(sys.argv[3])
try:
    writable(folder)
    written(folder, 2, b"x" * 20_000)
    written(folder, 4, b"x" * 200_000)
except OSError as error:
    print(of_error(error, folder))
    print(Checkpoints(folder).newest_complete()[0].step)
    room(folder, 200_000)
"""


def in_namespace(mount: str, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    """Run the program where `mount` has mounted something; as any user, if the kernel allows."""
    script = (
        f"mount {mount} {tmp_path} && exec {sys.executable} -c '{PROGRAM}' {ROOT} {ROOT}/lifecycle_scripts {tmp_path}"
    )
    probe = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("this machine allows no mount namespaces: unshare -rm")
    return subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)


def test_a_full_disk_keeps_the_last_checkpoint_complete(tmp_path: Path):
    done = in_namespace("-t tmpfs -o size=100k none", tmp_path)
    assert "LFJ11" in done.stdout, done.stderr
    assert "No space left on device" in done.stdout
    assert done.stdout.splitlines()[-1] == "2"
    assert "a checkpoint needs 195 KiB" in done.stderr, "and the next one is rejected before it is written"


def test_a_read_only_file_system_is_reported_immediately(tmp_path: Path):
    done = in_namespace("-t tmpfs -o ro none", tmp_path)
    assert "Read-only file system" in done.stderr
    assert "LFJ10" in done.stderr


def test_the_verb_lists_and_verifies(run: Run):
    written(run.checkpoints, 2)
    written(run.checkpoints, 4)
    (run.checkpoints / "step_00000004/model.bin").write_bytes(b"Weights")
    (run.checkpoints / "step_00000006").mkdir()
    ask = ["--run-folder", str(run.folder)]
    listed = run.starter.start(["checkpoints", "list", *ask, "--json"])
    assert [(row["step"], row["complete"]) for row in json.loads(listed.said)] == [(2, True), (4, True), (6, False)]
    verified = run.starter.start(["checkpoints", "verify", *ask])
    assert verified.codes == [3]
    assert "step 4: model.bin is damaged" in verified.said
    assert "step 6: checkpoint.json is missing" in verified.said
    assert run.starter.start(["checkpoints", "verify", *ask, "--step", "2"]).codes == [0]
    assert run.starter.start(["checkpoints", "newest", *ask]).said.strip().endswith("step_00000004")
