"""What the nodes' own runner says is read back: the lines are those of a real run of it, not copies."""

import sys
from datetime import UTC, datetime, timedelta

import pytest

from llm_fleet.cli.logs.log_streams import LogLine
from llm_fleet.cli.logs.node_runs import ParsedRun, own_text, parse_runs, step_of
from tests.lifecycle_scripts.step_files import step
from tests.lifecycle_scripts.throwaway_node import OWN_ADDRESSES, Ended, Node, resource_config
from tools.synth_environment import ROOT

STEPS = {
    "disks": step("disks"),
    "mount_lustre": step("mount_lustre", apply="fail(Code.COMMAND, 'mount: server not found', final=True)"),
    "training": step("training", needs=("mount_lustre",)),
}
START = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, Ended]:
    """A start that fails in a step, and one that never finds out who the node is."""
    sys.path.insert(0, str(ROOT / "lifecycle_scripts"))
    node = Node(tmp_path_factory.mktemp("node"))
    node.publish(step_files=STEPS)
    node.has("resource_config.json", resource_config({"trn": [OWN_ADDRESSES[0]]}))
    in_step = node.run()
    node.has("resource_config.json", resource_config({"strangers": [OWN_ADDRESSES[0]]}))
    return in_step, node.run()


def lines_of(*ended: Ended, before: str = "") -> list[LogLine]:
    """As the log agent ships them: both streams in one, in the order of their clocks."""
    told: list[str] = []
    for one in ended:
        clocked = [(clock, line) for text in (one.out, one.err) for clock, line in _clocked(text)]
        told += [line for _, line in sorted(clocked, key=lambda pair: pair[0])]
    return [LogLine(START + timedelta(seconds=n), "s", before + line) for n, line in enumerate(told)]


def _clocked(text: str) -> list[tuple[float, str]]:
    """Each line with its clock; one without, as a remedy, is as old as the line before it."""
    clock, found = 0.0, list[tuple[float, str]]()
    for line in filter(str.strip, text.splitlines()):
        first = line.split()[0]
        clock = float(first) if first.replace(".", "", 1).isdigit() else clock
        found.append((clock, line))
    return found


def only(lines: list[LogLine]) -> ParsedRun:
    (run,) = parse_runs(lines)
    return run


def test_a_failed_step_is_read_with_code_cause_and_remedy(ends: tuple[Ended, Ended]) -> None:
    in_step, _ = ends
    run = only(lines_of(in_step))
    assert (run.hook, run.code, run.ended) == ("OnInitComplete", "LFN31", True)
    assert run.cause == "mount: server not found"
    assert run.remedy == in_step.report["remedy"]
    assert run.seconds == pytest.approx(in_step.report["seconds"], abs=0.01)


def test_steps_are_read_as_the_report_has_them(ends: tuple[Ended, Ended]) -> None:
    in_step, _ = ends
    run = only(lines_of(in_step))
    told = {one["name"]: (one["state"].replace("_", " "), one["code"]) for one in in_step.report["steps"]}
    assert {name: (one.state, one.code) for name, one in run.steps.items()} == told
    assert told["training"] == ("not reached", None)
    assert run.steps["mount_lustre"].remedy == in_step.report["remedy"]


def test_a_refusal_before_any_step_is_read(ends: tuple[Ended, Ended]) -> None:
    _, refused = ends
    run = only(lines_of(refused))
    assert run.code == refused.report["code"]
    assert run.cause == refused.report["cause"]
    assert run.remedy == refused.report["remedy"]
    assert run.steps == {}


def test_what_the_platform_writes_before_a_line_does_no_harm(ends: tuple[Ended, Ended]) -> None:
    run = only(lines_of(ends[0], before="2026-11-22T03:00:01Z [lifecycle] "))
    assert (run.code, run.cause) == ("LFN31", "mount: server not found")


def test_several_runs_in_one_stream_are_told_apart(ends: tuple[Ended, Ended]) -> None:
    """A platform runs a script that failed again without a word; the last one counts."""
    runs = parse_runs(lines_of(ends[0], ends[0], ends[1]))
    assert [run.code for run in runs] == ["LFN31", "LFN31", ends[1].report["code"]]


def test_a_run_that_was_cut_off_has_no_code(ends: tuple[Ended, Ended]) -> None:
    whole = lines_of(ends[0])
    begun = next(n for n, line in enumerate(whole) if "] begins: " in line.text)
    run = only(whole[: begun + 1])
    assert (run.code, run.ended) == (None, False)
    assert [one.state for one in run.steps.values()] == ["running"]


def test_a_python_that_is_not_there_is_read_without_a_clock() -> None:
    text = (ROOT / "lifecycle_scripts" / "enter.sh").read_text(encoding="utf-8")
    assert r"printf 'LFN01  %s\n  remedy: %s\n'" in text
    run = only([LogLine(START, "s", "LFN01  no Python 3.9 to 3.13"), LogLine(START, "s", "  remedy: use an AMI")])
    assert (run.code, run.cause, run.remedy) == ("LFN01", "no Python 3.9 to 3.13", "use an AMI")


def test_the_exit_code_of_parallelcluster_is_a_code() -> None:
    said = "Failed to execute OnNodeConfigured script 1, return code: 39."
    assert only([LogLine(START, "s", said)]).code == "LFN39"


def test_lines_of_other_programs_are_nobodys() -> None:
    assert own_text("Reading package lists...") is None
    assert parse_runs([LogLine(START, "s", "Cloud-init v. 24.1 finished")]) == []


def test_each_line_knows_its_step(ends: tuple[Ended, Ended]) -> None:
    steps = {step_of(line.text) for line in lines_of(ends[0])}
    assert {"disks", "mount_lustre", "training", None} <= steps
