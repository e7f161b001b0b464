"""One node builds and the others wait, in real processes on one folder, also if the building process fails."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.training import build_once as module
from llm_fleet_node.training.build_once import TRIES, build_once
from llm_fleet_node.training.shared_lock import SharedLock

BUILDER = Path(__file__).with_name("builder.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "locks").mkdir()
    return tmp_path


def start(folder: Path, seconds: float, how: str = "build") -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-S", BUILDER, str(folder), str(seconds), how])


def together(folder: Path, count: int, seconds: float, how: str) -> "list[subprocess.Popen[bytes]]":
    """Start the processes together, because earlier failures do not count for a later process."""
    (folder / "wait").touch()
    processes = [start(folder, seconds, how) for _ in range(count)]
    deadline = time.monotonic() + 20
    while len(list(folder.glob("here-*"))) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (folder / "wait").unlink()
    return processes


def ended(processes: "list[subprocess.Popen[bytes]]") -> list[int]:
    return [process.wait(60) for process in processes]


def lines(folder: Path, what: str) -> list[str]:
    reported = (line.split(" ", 1)[1] for line in (folder / "log").read_text().splitlines())
    return [line for line in reported if line.startswith(what)]


def await_line(folder: Path, what: str) -> None:
    deadline = time.monotonic() + 20
    while not ((folder / "log").exists() and lines(folder, what)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def held(folder: Path, number: int, **more: object) -> Path:
    """A lock of a process on another node."""
    record = {"host": "ip-10-1-0-99", "pid": 7, "boot": "other", "state": "held", "beat": 0, "doing": "installing"}
    path = folder / "locks" / f"thing.{number:08d}"
    path.write_text(json.dumps({**record, "since": "2026-11-20T08:00:00.000Z", **more}))
    return path


def test_of_sixteen_processes_exactly_one_builds(folder: Path) -> None:
    processes = [start(folder, 0.5) for _ in range(16)]
    assert ended(processes) == [0] * 16
    assert len(lines(folder, "builds")) == 1
    assert len(lines(folder, "built")) == 1
    assert len(lines(folder, "found it built")) == 15


def test_after_a_killed_build_another_process_builds(folder: Path) -> None:
    first = start(folder, 60)
    await_line(folder, "builds")
    others = [start(folder, 0.2) for _ in range(2)]
    first.kill()
    assert ended([first, *others]) == [-9, 0, 0]
    assert len(lines(folder, "builds")) == 2
    assert len(lines(folder, "built")) == 1


def test_a_suspended_build_is_replaced_and_publishes_nothing_when_it_resumes(folder: Path) -> None:
    first = start(folder, 0.5)
    await_line(folder, "builds")
    first.send_signal(signal.SIGSTOP)
    # Its record names this machine, where its process still exists: only the missing renewal shows that it ended.
    second = start(folder, 0.2)
    assert second.wait(30) == 0
    (folder / "made").unlink()  # so that the first one's failure would be read
    first.send_signal(signal.SIGCONT)
    assert first.wait(30) == 1
    assert lines(folder, "failed: LFN143")
    assert not (folder / "made").exists()


def test_after_three_failed_builds_all_waiting_processes_fail(folder: Path) -> None:
    processes = together(folder, 8, 0.5, "fail")
    assert ended(processes) == [1] * 8
    builds = len(lines(folder, "builds"))
    assert builds in (TRIES, TRIES + 1), "earlier failures do not count for a late process"
    assert len(lines(folder, "failed: LFN136")) == builds
    assert len(lines(folder, "failed: LFN134")) == 8 - builds
    assert all("LFN136  no wheel fits" in line for line in lines(folder, "failed: LFN134"))


def test_killed_builds_count_as_failed(folder: Path) -> None:
    codes = ended(together(folder, 6, 0.5, "die"))
    assert codes.count(-9) in (TRIES, TRIES + 1)
    assert codes.count(-9) + codes.count(1) == 6
    assert all("ended without a result" in line for line in lines(folder, "failed: LFN134"))


def test_an_old_failure_does_not_prevent_a_build(folder: Path) -> None:
    held(folder, 9, state="failed", failure="LFN131  full")
    assert ended([start(folder, 0)]) == [0]
    assert sorted(path.name for path in (folder / "locks").iterdir()) == ["thing.00000010"]


@pytest.mark.parametrize("content", ["", "not ours", "[1]", "null"])
def test_a_foreign_lock_file_expires(folder: Path, content: str) -> None:
    (folder / "locks/thing.00000003").write_text(content)
    began = time.monotonic()
    assert ended([start(folder, 0)]) == [0]
    assert time.monotonic() - began > 0.5
    assert (folder / "locks/thing.00000004").is_file()


def test_a_folder_at_the_path_of_a_lock_expires(folder: Path) -> None:
    (folder / "locks/thing.00000003").mkdir()
    assert ended([start(folder, 0)]) == [0]
    assert (folder / "locks/thing.00000004").is_file()


def test_files_of_other_locks_are_not_removed(folder: Path) -> None:
    others = ["thing.00000001.bak", "thing-else.00000009", "other.00000002", "thing.7"]
    for name in others:
        (folder / "locks" / name).write_text("x")
    assert ended([start(folder, 0)]) == [0]
    assert sorted(path.name for path in (folder / "locks").iterdir()) == sorted([*others, "thing.00000001"])


def test_a_holder_on_another_node_is_waited_for_and_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held(folder, 1)
    monkeypatch.setattr(module, "_SAY_EVERY", 0.1)
    said: list[str] = []
    with pytest.raises(
        Failure, match=r"LFN133  ip-10-1-0-99 \(process 7.*has not finished thing after .*current work: installing"
    ) as reported:
        build_once(
            SharedLock(folder / "locks", "thing"), is_done=lambda: False, build=never, say=said.append, seconds=0.4
        )
    assert reported.value.final
    assert said[0].startswith("waiting for ip-10-1-0-99")


def test_a_renewed_lock_is_not_taken_over(folder: Path) -> None:
    lock = SharedLock(folder / "locks", "thing", stale=0.2)
    until = time.monotonic() + 0.8
    beat = 0
    while time.monotonic() < until:
        held(folder, 1, beat=(beat := beat + 1))
        seen = lock.look()
        assert seen is not None
        assert not lock.is_abandoned(seen)
        time.sleep(0.02)
    time.sleep(0.3)
    seen = lock.look()
    assert seen is not None
    assert lock.is_abandoned(seen)


def test_process_ids_of_other_machines_are_not_checked(folder: Path) -> None:
    held(folder, 1, pid=2**22 - 1)
    lock = SharedLock(folder / "locks", "thing")
    seen = lock.look()
    assert seen is not None
    assert not lock.is_abandoned(seen)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    held(folder, 1, pid=2**22 - 1, host=os.uname().nodename, boot=boot)
    gone = lock.look()
    assert gone is not None
    assert lock.is_abandoned(gone)


def test_a_reused_process_id_is_not_taken_for_the_holder(folder: Path) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    held(folder, 1, pid=os.getppid(), host=os.uname().nodename, boot=boot, began="1")
    lock = SharedLock(folder / "locks", "thing")
    seen = lock.look()
    assert seen is not None
    assert lock.is_abandoned(seen)


def test_a_result_published_before_the_lock_is_not_built_again(folder: Path) -> None:
    answers = iter([False, True])
    lock = SharedLock(folder / "locks", "thing")
    assert not build_once(lock, is_done=lambda: next(answers), build=never, say=print, seconds=1)
    assert json.loads((folder / "locks/thing.00000001").read_text())["state"] == "done"


def test_a_process_that_missed_a_change_does_not_take_the_lock(folder: Path) -> None:
    """It has read the abandoned number 1; meanwhile others took 2 and 3 and removed older files."""
    held(folder, 3)
    assert SharedLock(folder / "locks", "thing").take(1) is None
    assert [path.name for path in (folder / "locks").iterdir()] == ["thing.00000003"]


def test_old_temporary_files_are_removed(folder: Path) -> None:
    for name, age in (("old", 7200), ("new", 60)):
        path = folder / "locks" / f".new-{name}"
        path.write_text("x")
        os.utime(path, (time.time() - age, time.time() - age))
    assert SharedLock(folder / "locks", "thing").take(0)
    assert sorted(path.name for path in (folder / "locks").iterdir()) == [".new-new", "thing.00000001"]


def never(_: object) -> None:
    raise AssertionError("this node must not build")
