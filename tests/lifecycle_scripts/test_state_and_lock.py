"""State and lock: a run continues where the previous one stopped, and never runs at the same time as another."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from llm_fleet_node import start
from llm_fleet_node.start import Start
from tests.lifecycle_scripts.runs import by_name, is_gone, wait_until
from tests.lifecycle_scripts.step_files import APPLY, step
from tests.lifecycle_scripts.throwaway_node import Node

COUNTING = f"count(node, 'applied'); {APPLY}"
WAITING = "count(node, 'begun'); wait_for('end', lambda: node.host.read('/go'), seconds=60, code=Code.COMMAND)"


def test_completed_steps_are_verified_and_not_applied_again(worker: Node) -> None:
    worker.publish(step_files={"one": step("one", apply=COUNTING), "two": step("two", apply=COUNTING)})
    worker.run()
    ended = worker.run()
    assert (ended.code, applied(worker, "one"), applied(worker, "two")) == (0, 1, 1)
    assert (by_name(ended)["one"]["changes"], by_name(ended)["one"]["repaired"]) == ([], False)


def test_a_completed_step_that_no_longer_verifies_is_repaired(worker: Node) -> None:
    worker.publish(step_files={"one": step("one", apply=COUNTING), "two": step("two", apply=COUNTING)})
    worker.run()
    (worker.root / "made/one").unlink()
    ended = worker.run()
    assert (ended.code, applied(worker, "one"), applied(worker, "two")) == (0, 2, 1)
    assert by_name(ended)["one"]["repaired"]
    assert by_name(ended)["one"]["changes"] == ["wrote /made/one"]
    assert "must be applied again: /made/one is not as it should be" in ended.out


def test_failed_steps_are_applied_again_and_completed_ones_are_not(worker: Node) -> None:
    broken = "count(node, 'applied'); wait_for('go', lambda: node.host.read('/go'), seconds=0, code=Code.COMMAND)"
    files = {"one": step("one", apply=COUNTING), "two": step("two", apply=broken, verify="pass", needs=("one",))}
    worker.publish(step_files=files)
    assert worker.run().code == 1
    (worker.root / "go").write_text("yes")
    assert worker.run().code == 0
    assert (applied(worker, "one"), applied(worker, "two")) == (1, 2)


@pytest.mark.parametrize("whom", ["runner", "all"])
def test_a_killed_run_leaves_no_process_and_the_next_run_continues(worker: Node, whom: str) -> None:
    worker.publish(
        step_files={
            "one": step("one", apply=COUNTING),
            "two": step("two", apply=WAITING, verify="pass", needs=("one",)),
        }
    )
    pids: list[int] = []
    process = worker.start(stdout=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: (worker.root / "begun.two").exists())
    pids += children(process.pid)
    os.kill(process.pid, signal.SIGKILL) if whom == "runner" else [os.kill(pid, 9) for pid in (process.pid, *pids)]
    process.wait()
    assert pids
    assert all(is_gone(pid) for pid in pids)
    assert state(worker)["steps"]["two"]["state"] == "running"

    (worker.root / "go").write_text("yes")
    ended = worker.run()
    assert (ended.code, applied(worker, "one")) == (0, 1)
    assert "an earlier run was killed in two, which is applied again" in ended.out
    assert state(worker)["steps"]["two"]["state"] == "done"


def test_children_of_a_killed_runs_step_end_too(worker: Node, tmp_path: Path) -> None:
    shell = f"echo $$ >{tmp_path}/pid; while :; do read -t 1 <> <(:) || :; done"
    worker.publish(step_files={"one": step("one", apply=f"subprocess.run(['bash', '-c', {shell!r}])")})
    process = worker.start(stdout=subprocess.DEVNULL)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    process.kill()
    process.wait()
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_second_run_is_rejected_and_keeps_the_report_of_the_first(worker: Node) -> None:
    worker.publish(step_files={"one": step("one", apply=WAITING, verify="pass")})
    first = worker.start(stdout=subprocess.DEVNULL)
    wait_until(lambda: (worker.root / "begun.one").exists())
    second = worker.run(LLM_FLEET_LOCK_DEADLINE="0.2")
    assert second.code == 1
    assert f"LFN22  process {first.pid}, since 20" in second.err
    assert second.report == {}
    (worker.root / "go").write_text("yes")
    assert first.wait(20) == 0
    assert worker.report()["code"] == "OK"


def test_a_second_run_takes_over_when_the_first_ends_in_time(worker: Node) -> None:
    worker.publish(step_files={"one": step("one", apply=WAITING, verify="pass")})
    first = worker.start(stdout=subprocess.DEVNULL)
    wait_until(lambda: (worker.root / "begun.one").exists())
    second = worker.start(stdout=subprocess.DEVNULL, env={"LLM_FLEET_LOCK_DEADLINE": "30"})
    (worker.root / "go").write_text("yes")
    assert (first.wait(20), second.wait(20)) == (0, 0)


@pytest.mark.parametrize(
    "broken",
    ["", "{", "[]", "null", "7", '{"version": 1}', '{"version": 1, "bundle": "x", "boot": "", "steps": {"one": 7}}'],
)
def test_an_invalid_state_file_is_renamed(worker: Node, broken: str) -> None:
    worker.publish(step_files={"one": step("one", apply=COUNTING)})
    worker.run()
    (states(worker) / "state.json").write_text(broken)
    ended = worker.run()
    assert (ended.code, applied(worker, "one")) == (0, 2)
    assert "it was renamed to state.json.broken, and every step is applied" in ended.out
    assert (states(worker) / "state.json.broken").read_text() == broken


def test_a_truncated_state_file_does_not_prevent_a_run(worker: Node) -> None:
    worker.publish(step_files={"one": step("one")})
    worker.run()
    whole = (states(worker) / "state.json").read_bytes()
    for length in range(0, len(whole), 41):
        (states(worker) / "state.json").write_bytes(whole[:length])
        assert worker.run().code == 0


def test_another_bundle_applies_everything(worker: Node) -> None:
    worker.publish(step_files={"one": step("one", apply=COUNTING)})
    worker.run()
    worker.publish(step_files={"one": step("one", apply=COUNTING + "  # another")})
    ended = worker.run()
    assert applied(worker, "one") == 2
    assert "the last run was with bundle" in ended.out


@pytest.mark.parametrize("what", ["machine", "container"])
def test_a_reboot_applies_everything(worker: Node, what: str) -> None:
    boot(worker, "first", 7)
    worker.publish(step_files={"one": step("one", apply=COUNTING)})
    worker.run()
    worker.run()
    assert applied(worker, "one") == 1
    boot(worker, *(("second", 7) if what == "machine" else ("first", 8)))
    ended = worker.run()
    assert applied(worker, "one") == 2
    assert "the node was booted since the last run" in ended.out


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("log/llm-fleet/report.json.new", "LFN30"),
        ("log/llm-fleet/llm-fleet.log", "LFN30"),
        ("lib/llm-fleet/state.json.new", "LFN35"),
    ],
)
def test_a_full_disk_is_reported_as_a_failure(worker: Node, place: str, code: str) -> None:
    worker.publish(step_files={"one": step("one")})
    path = worker.root / "var" / place
    path.parent.mkdir(parents=True)
    path.symlink_to("/dev/full")
    ended = worker.run()
    assert ended.code == 1
    assert code in ended.err
    assert "Traceback" not in ended.err
    assert (worker.root / "made/one").exists()
    if code == "LFN35":
        assert ended.report["code"] == code


@pytest.mark.parametrize("also", [(), ("report.json.new",), ("report.json.new", "llm-fleet.log")])
def test_a_full_disk_of_log_and_report_leaves_no_earlier_success(worker: Node, also: tuple[str, ...]) -> None:
    """HyperPod's file with the scripts' output is on the disk of their own log: if it is full, both fail."""
    worker.publish(step_files={"one": step("one")})
    assert worker.run().report["code"] == "OK"
    for name in also:
        (worker.logs / name).unlink(missing_ok=True)
        (worker.logs / name).symlink_to("/dev/full")
    with open("/dev/full", "w") as full, worker.start(stdout=full, stderr=full) as process:
        assert process.wait(60) == 1
    assert worker.report().get("code") == (None if also else "LFN30")


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--list"], "OK"), (["--dry-run"], "OK"), (["--only", "nothing-such"], "LFN23")]
)
def test_a_report_is_removed_at_the_start_of_the_next_run(worker: Node, arguments: list[str], code: str | None) -> None:
    worker.publish(step_files={"one": step("one")})
    worker.run()
    worker.run("on_init_complete.sh", *arguments)
    assert worker.report().get("code") == code


def test_a_package_that_cannot_be_loaded_leaves_no_earlier_success(worker: Node) -> None:
    worker.publish(step_files={"one": step("one")})
    worker.run()
    (worker.bundle / "llm_fleet_node/start.py").write_text("this is no Python\n")
    assert worker.run().code == 1
    assert worker.report() == {}


def test_a_report_that_cannot_be_written_is_still_sent(worker: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def attempt(_: Start) -> None:
        pass

    def notify(run: Start) -> None:
        sent.append(run._record["code"])  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setenv("LLM_FLEET_ROOT", str(worker.root))
    monkeypatch.setattr(Start, "_attempt", attempt)
    monkeypatch.setattr(Start, "_notify", notify)
    worker.logs.mkdir(parents=True)
    (worker.logs / "report.json.new").symlink_to("/dev/full")
    assert start.main(["OnCreate"]) == 1
    assert sent == ["LFN30"]


def test_a_state_folder_that_cannot_be_made_is_reported(worker: Node) -> None:
    (worker.root / "var").mkdir()
    (worker.root / "var/lib").write_text("in the way")
    ended = worker.run()
    assert (ended.code, ended.report["code"]) == (1, "LFN35")


def applied(node: Node, name: str) -> int:
    return len((node.root / f"applied.{name}").read_text())


def states(node: Node) -> Path:
    return node.root / "var/lib/llm-fleet"


def state(node: Node) -> dict[str, dict[str, dict[str, str]]]:
    return json.loads((states(node) / "state.json").read_text())


def boot(node: Node, identity: str, start: int) -> None:
    """Change the node's boot id."""
    path = node.root / "proc/sys/kernel/random/boot_id"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{identity}\n")
    (node.root / "proc/1").mkdir(exist_ok=True)
    (node.root / "proc/1/stat").write_text(f"1 (a ) name) {' '.join(['S', *(['0'] * 18)])} {start} 0 0\n")


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
