"""The runner as a process: steps that succeed, fail, hang or are killed."""

import json
import re
import signal
import time
from pathlib import Path

import pytest

from tests.lifecycle_scripts.runs import by_name, is_gone, wait_until
from tests.lifecycle_scripts.step_files import step
from tests.lifecycle_scripts.throwaway_node import Node


def test_steps_are_applied_in_the_order_of_their_needs_and_each_is_reported(worker: Node) -> None:
    worker.publish(step_files={"last": step("last", needs=("first",)), "first": step("first")})
    ended = worker.run()
    assert (ended.code, ended.err) == (0, "")
    first, last = by_name(ended)["first"], by_name(ended)["last"]
    assert first["ended"] <= last["started"]
    assert first["changes"] == ["wrote /made/first"]
    assert (first["state"], first["attempts"], first["code"], first["repaired"]) == ("done", 1, None, False)
    assert first["started_at"].endswith("Z")
    assert first["duration"] == pytest.approx(first["ended"] - first["started"], abs=0.002)
    assert set(first["seconds"]) == {"apply", "verify"}
    assert ended.report["slowest_path"] == ["first", "last"]
    assert ended.report["failures"] == []


def test_every_key_of_the_report_is_in_its_description(worker: Node) -> None:
    worker.publish(step_files={"one": step("one")})
    report = worker.run().report
    described = set(re.findall(r"`([a-z_]+)`", (worker.bundle / "README.md").read_text()))
    assert report.keys() | report["steps"][0].keys() | report["node"].keys() <= described


def test_independent_steps_run_in_parallel(worker: Node) -> None:
    names = ("a", "b", "c", "d")
    meet = f"meet(node, {names})"
    worker.publish(step_files={name: step(name, apply=meet, verify="pass") for name in names})
    assert worker.run().code == 0


def test_after_waits_for_a_step_and_runs_even_if_it_fails(worker: Node) -> None:
    failing = step("failing", apply="fail(Code.COMMAND, 'it cannot be done')")
    worker.publish(step_files={"failing": failing, "later": step("later", after=("failing",))})
    ended = worker.run()
    assert ended.code == 1
    assert by_name(ended)["later"]["state"] == "done"
    assert by_name(ended)["later"]["started"] >= by_name(ended)["failing"]["ended"]


def test_a_failure_stops_only_steps_that_need_it_and_all_failures_are_reported(worker: Node) -> None:
    broken = "fail(Code.COMMAND, f'{name} cannot be done')"
    worker.publish(
        step_files={
            "one": step("one", apply=broken),
            "two": step("two", apply=broken, after=("one",)),
            "needs_one": step("needs_one", needs=("one",)),
            "needs_that": step("needs_that", needs=("needs_one",)),
            "free": step("free"),
        }
    )
    ended = worker.run()
    assert ended.code == 1
    states = {name: reported["state"] for name, reported in by_name(ended).items()}
    assert states == {
        "one": "failed",
        "two": "failed",
        "needs_one": "not_reached",
        "needs_that": "not_reached",
        "free": "done",
    }
    assert (ended.report["code"], ended.report["cause"]) == ("LFN31", "one cannot be done")
    assert [reported["step"] for reported in ended.report["failures"]] == ["one", "two"]
    assert by_name(ended)["needs_that"]["why"] == "it needs needs_one"
    assert "LFN31  one: one cannot be done" in ended.err
    assert "LFN31  two: two cannot be done" in ended.err
    assert f"log: {worker.logs / 'llm-fleet.log'}" in ended.err


def test_a_failed_verification_is_a_failure(worker: Node) -> None:
    worker.publish(step_files={"idle": step("idle", apply="pass")})
    ended = worker.run()
    assert (ended.code, by_name(ended)["idle"]["cause"]) == (1, "/made/idle is not as it should be")


def test_a_step_that_recovers_is_tried_again_after_growing_pauses(worker: Node) -> None:
    apply = "if count(node, 'tries') < 3: fail(Code.COMMAND, 'not yet')"
    worker.publish(step_files={"slow": step("slow", apply=apply, verify="pass", more="'retries': 2")})
    ended = worker.run()
    assert (ended.code, by_name(ended)["slow"]["attempts"]) == (0, 3)
    assert by_name(ended)["slow"]["duration"] > 1.4
    assert "[slow] LFN31  not yet; retrying in 0.5 s" in ended.out
    assert "[slow] LFN31  not yet; retrying in 1 s" in ended.out


@pytest.mark.parametrize(("final", "tries"), [(False, 2), (True, 1)])
def test_a_final_failure_is_not_tried_again(worker: Node, final: bool, tries: int) -> None:
    apply = f"count(node, 'tries'); fail(Code.COMMAND, 'no', final={final})"
    worker.publish(step_files={"hard": step("hard", apply=apply, more="'retries': 1")})
    assert by_name(worker.run())["hard"]["attempts"] == tries
    assert (worker.root / "tries.hard").read_text() == "x" * tries


@pytest.mark.parametrize("deaf", [False, True])
def test_a_step_that_hangs_is_ended_with_everything_it_started(worker: Node, tmp_path: Path, deaf: bool) -> None:
    shell = f"{'trap : TERM; ' if deaf else ''}echo $$ >{tmp_path}/pid; while :; do read -t 1 <> <(:) || :; done"
    apply = f"print('before', flush=True); subprocess.run(['bash', '-c', {shell!r}])"
    worker.publish(step_files={"hangs": step("hangs", apply=apply, more="'timeout': 0.5")})
    ended = worker.run()
    reported = by_name(ended)["hangs"]
    assert (ended.code, reported["code"], reported["cause"]) == (1, "LFN32", "it did not finish within 0.5 s")
    assert reported["output"] == ["before"]
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_step_that_is_killed_is_reported(worker: Node) -> None:
    worker.publish(step_files={"dies": step("dies", apply="os.kill(os.getpid(), 9)")})
    reported = by_name(worker.run())["dies"]
    assert (reported["code"], reported["cause"]) == ("LFN33", "its process was killed by SIGKILL")


def test_a_full_disk_has_a_code_however_a_step_meets_it(worker: Node) -> None:
    apply = "with open('/dev/full', 'w') as file: file.write('x')"
    command = "node.host.path('/bin').mkdir(exist_ok=True); node.host.path('/bin/fill').symlink_to('/bin/bash'); "
    command += "node.host.run('fill', '-c', 'echo x >/dev/full')"
    worker.publish(step_files={"own": step("own", apply=apply), "other": step("other", apply=command)})
    ended = worker.run()
    assert {reported["code"] for reported in by_name(ended).values()} == {"LFN46"}, ended.err
    assert "No space left on device" in by_name(ended)["own"]["cause"]


@pytest.mark.parametrize(
    ("apply", "cause"),
    [
        ("node.host.folder('/opt/junk/more')", "{root}/opt/junk is a file, but must be a folder"),
        ("node.host.folder('/opt/junk')", "{root}/opt/junk is a file, but must be a folder"),
        ("node.host.write('/opt', 'x')", "{root}/opt is a folder, but must be a file"),
        ("node.host.path('/opt').read_bytes()", "{root}/opt is a folder, but must be a file"),
        (
            "raise OSError(30, 'Read-only file system', '/opt/x')",
            "/opt/x cannot be written: its file system is read-only",
        ),
        ("raise OSError(1, 'Operation not permitted', '/opt/x')", "/opt/x cannot be used: Operation not permitted"),
        ("raise OSError(5, 'Input/output error', 'a', None, '/opt/b')", "/opt/b cannot be used: Input/output error"),
        (
            "import shutil; raise shutil.Error([('a', '/b', '[Errno 30] Read-only file system')])",
            "Read-only file system",
        ),
    ],
)
def test_file_system_errors_of_the_node_are_not_unexpected_errors(worker: Node, apply: str, cause: str) -> None:
    worker.publish(step_files={"own": step("own", apply=apply)})
    (worker.root / "opt/junk").write_text("in the way")
    reported = by_name(worker.run())["own"]
    assert reported["code"] == "LFN167"
    assert cause.format(root=worker.root) in reported["cause"]


def test_an_unexpected_error_in_a_step_is_logged_with_its_traceback(worker: Node) -> None:
    worker.publish(step_files={"odd": step("odd", apply="{}['key']")})
    ended = worker.run()
    assert (by_name(ended)["odd"]["code"], by_name(ended)["odd"]["cause"]) == ("LFN99", "KeyError: 'key'")
    assert "[odd] Traceback (most recent call last):" in (worker.logs / "llm-fleet.log").read_text()


def test_output_of_a_step_is_in_the_log_and_its_last_lines_in_the_report(worker: Node) -> None:
    apply = "for number in range(30): print('line', number)\nos.system('echo from below >&2'); print('no end', end=' ')"
    worker.publish(step_files={"talks": step("talks", apply=apply, verify="node.say('and verified')")})
    ended = worker.run()
    log = (worker.logs / "llm-fleet.log").read_text()
    assert all(f"Z  [talks] line {number}\n" in log for number in range(30))
    assert by_name(ended)["talks"]["output"][-3:] == ["line 29", "from below", "no end and verified"]
    assert log.count("and verified") == 1
    assert len(by_name(ended)["talks"]["output"]) == 20


def test_a_result_longer_than_a_pipe_buffer_is_read(worker: Node) -> None:
    apply = "node.host.changes += [f'{number:0100}' for number in range(5000)]"
    worker.publish(step_files={"long": step("long", apply=apply, verify="pass")})
    assert len(by_name(worker.run())["long"]["changes"]) == 5000


def test_a_daemon_started_by_a_step_does_not_block_the_run(worker: Node) -> None:
    apply = "subprocess.Popen(['bash', '-c', 'read -t 20 <> <(:)'], start_new_session=True)"
    worker.publish(step_files={"starts": step("starts", apply=apply, verify="pass")})
    began = time.monotonic()
    assert worker.run().code == 0
    assert time.monotonic() - began < 10


def test_output_into_files_is_written_too(worker: Node, tmp_path: Path) -> None:
    worker.publish(step_files={"talks": step("talks", apply="print('hello')", verify="pass")})
    with (tmp_path / "out").open("w") as out:
        assert worker.start(stdout=out, stderr=out).wait(60) == 0
    assert "[talks] hello" in (tmp_path / "out").read_text()


def test_the_run_is_reported_on_one_screen(worker: Node) -> None:
    broken = step("broken", apply="fail(Code.COMMAND, 'no')")
    worker.publish(step_files={"broken": broken, "good": step("good"), "after": step("after", needs=("broken",))})
    ended = worker.run()
    screen = [" ".join(line.split()[1:]) for line in ended.out.splitlines()]
    assert any(line.startswith("FAILED broken") and line.endswith("LFN31") for line in screen), screen
    assert any(line.startswith("ok good") and line.endswith("1 changes") for line in screen)
    assert "- after it needs broken" in screen


def test_with_json_standard_output_has_only_json(worker: Node) -> None:
    worker.publish(step_files={"one": step("one", apply="print('noise')", verify="pass")})
    ended = worker.run("on_init_complete.sh", "--json")
    assert json.loads(ended.out) == ended.report


def test_only_applies_what_is_named_and_verifies_what_that_needs(worker: Node) -> None:
    files = {"base": step("base"), "top": step("top", needs=("base",)), "other": step("other")}
    worker.publish(step_files=files)
    refused = worker.run("on_init_complete.sh", "--only", "top")
    assert (refused.code, refused.report["code"]) == (1, "LFN36")
    assert (
        "base is needed, but its verification failed: LFN31  /made/base is not as it should be"
        in refused.report["cause"]
    )
    assert by_name(refused)["top"]["state"] == "not_reached"
    assert not (worker.root / "made").exists()

    assert worker.run("on_init_complete.sh", "--only", "base").code == 0
    ended = worker.run("on_init_complete.sh", "--only", "top")
    assert (ended.code, set(by_name(ended))) == (0, {"base", "top"})
    assert by_name(ended)["base"]["verified_only"]
    assert sorted(path.name for path in (worker.root / "made").iterdir()) == ["base", "top"]


def test_only_accepts_steps_of_this_node(worker: Node) -> None:
    worker.publish(step_files={"one": step("one"), "head": step("head", more="'roles': frozenset({CONTROLLER})")})
    ended = worker.run("on_init_complete.sh", "--only", "head", "nothing")
    assert ended.report["code"] == "LFN23"
    assert "head: not for the role Compute; nothing: no such step" in ended.report["cause"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_run_ends_its_steps_and_reports_it(worker: Node, tmp_path: Path, number: signal.Signals) -> None:
    apply = f"Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid())); wait_for('end', lambda: 0, seconds=60, "
    worker.publish(step_files={"long": step("long", apply=f"{apply}code=Code.COMMAND)")})
    # Under nohup SIGHUP is ignored, also in child processes.
    process = worker.start(preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    process.send_signal(number)
    assert process.wait(20) == 1
    assert worker.report()["code"] == "LFN34"
    assert worker.report()["steps"][0]["state"] == "running"
    assert is_gone(int((tmp_path / "pid").read_text()))
