"""Options of `llm-fleet logs`, and lines of the lifecycle scripts from a real run."""

import sys
from datetime import UTC, datetime, timedelta

import pytest

from llm_fleet.cli.logs.gather import Gathered, Requested, failure_code
from llm_fleet.cli.logs.log_streams import LogLine, since
from llm_fleet.cli.logs.node_runs import ParsedRun, own_text, parse_runs, step_of
from llm_fleet.cli.logs.show_logs import nothing_shown
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.problem import FleetError, Problem
from tests.lifecycle_scripts.step_files import step
from tests.lifecycle_scripts.throwaway_node import OWN_ADDRESSES, Ended, Node, resource_config
from tools.synth_environment import ROOT

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("90s", "2026-11-22T11:58:30+00:00"),
        ("30m", "2026-11-22T11:30:00+00:00"),
        ("2h", "2026-11-22T10:00:00+00:00"),
        ("3d", "2026-11-19T12:00:00+00:00"),
        ("2026-11-22T03:00:00Z", "2026-11-22T03:00:00+00:00"),
        ("2026-11-22 03:00", "2026-11-22T03:00:00+00:00"),
        ("2026-11-22T03:00:00+02:00", "2026-11-22T01:00:00+00:00"),
    ],
)
def test_spans_and_times_are_read(text: str, meant: str) -> None:
    found = since(text, now=NOW)
    assert found is not None
    assert found.isoformat() == meant


@pytest.mark.parametrize("text", ["", "yesterday", "2 fortnights", "-2h", "999999w"])
def test_a_text_that_is_neither_a_span_nor_a_time_is_reported(text: str) -> None:
    with pytest.raises(FleetError, match="LF1120"):
        since(text, now=NOW)


@pytest.mark.parametrize("text", ["LFN39", "lfn39", "39"])
def test_a_failure_code_may_be_abbreviated(text: str) -> None:
    assert failure_code(text) == "LFN39"


@pytest.mark.parametrize(("text", "code"), [("1", "LFN01"), ("104", "LFN104")])
def test_a_code_has_two_digits_or_more(text: str, code: str) -> None:
    assert failure_code(text) == code


def test_an_unknown_failure_code_is_reported() -> None:
    with pytest.raises(FleetError, match="LF1124"):
        failure_code("LF39")


def test_no_failures_requires_a_result_of_every_node():
    failed, code = Requested(failed=True), Requested(code="LFN39")
    assert nothing_shown(Gathered(), failed, 0) == "no node's start failed"
    assert nothing_shown(Gathered(), failed, 5) == "no known start has failed; the result of 5 nodes is unknown"
    assert nothing_shown(Gathered(), code, 0) == "no node's start ended with LFN39"
    denied = Problem(code=CommandCode.DENIED, message="m", remedy="r")
    assert "not all nodes could be read" in nothing_shown(Gathered(problems=[denied]), failed, 0)
    assert nothing_shown(Gathered(), Requested(), 0) == "no node has started yet"


STEPS = {
    "disks": step("disks"),
    "mount_lustre": step("mount_lustre", apply="fail(Code.COMMAND, 'mount: server not found', final=True)"),
    "training": step("training", needs=("mount_lustre",)),
}
START = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, Ended]:
    """A start that fails in a step, and one that fails before the node is identified."""
    sys.path.insert(0, str(ROOT / "lifecycle_scripts"))
    node = Node(tmp_path_factory.mktemp("node"))
    node.publish(step_files=STEPS)
    node.has("resource_config.json", resource_config({"trn": [OWN_ADDRESSES[0]]}))
    in_step = node.run()
    node.has("resource_config.json", resource_config({"strangers": [OWN_ADDRESSES[0]]}))
    return in_step, node.run()


def lines_of(*ended: Ended, before: str = "") -> list[LogLine]:
    """Lines as the log agent sends them: both streams in one, by timestamp."""
    reported: list[str] = []
    for one in ended:
        clocked = [(clock, line) for text in (one.out, one.err) for clock, line in _clocked(text)]
        reported += [line for _, line in sorted(clocked, key=lambda pair: pair[0])]
    return [LogLine(START + timedelta(seconds=n), "s", before + line) for n, line in enumerate(reported)]


def _clocked(text: str) -> list[tuple[float, str]]:
    """Lines with timestamps; a line without, e.g. a remedy, has that of the line before it."""
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
    reported = {one["name"]: (one["state"].replace("_", " "), one["code"]) for one in in_step.report["steps"]}
    assert {name: (one.state, one.code) for name, one in run.steps.items()} == reported
    assert reported["training"] == ("not reached", None)
    assert run.steps["mount_lustre"].remedy == in_step.report["remedy"]


def test_a_failure_before_the_first_step_is_read(ends: tuple[Ended, Ended]) -> None:
    _, refused = ends
    run = only(lines_of(refused))
    assert run.code == refused.report["code"]
    assert run.cause == refused.report["cause"]
    assert run.remedy == refused.report["remedy"]
    assert run.steps == {}


def test_prefixes_of_the_platform_are_ignored(ends: tuple[Ended, Ended]) -> None:
    run = only(lines_of(ends[0], before="2026-11-22T03:00:01Z [lifecycle] "))
    assert (run.code, run.cause) == ("LFN31", "mount: server not found")


def test_several_runs_in_one_stream_are_separated(ends: tuple[Ended, Ended]) -> None:
    """A platform runs a failed script again silently; the last run counts."""
    runs = parse_runs(lines_of(ends[0], ends[0], ends[1]))
    assert [run.code for run in runs] == ["LFN31", "LFN31", ends[1].report["code"]]


def test_a_run_that_was_cut_off_has_no_code(ends: tuple[Ended, Ended]) -> None:
    whole = lines_of(ends[0])
    begun = next(n for n, line in enumerate(whole) if "] begins: " in line.text)
    run = only(whole[: begun + 1])
    assert (run.code, run.ended) == (None, False)
    assert [one.state for one in run.steps.values()] == ["running"]


def test_a_missing_python_is_read_from_lines_without_a_time() -> None:
    text = (ROOT / "lifecycle_scripts" / "enter.sh").read_text(encoding="utf-8")
    assert r"printf 'LFN01  %s\n  remedy: %s\n'" in text
    run = only([LogLine(START, "s", "LFN01  no Python 3.9 to 3.13"), LogLine(START, "s", "  remedy: use an AMI")])
    assert (run.code, run.cause, run.remedy) == ("LFN01", "no Python 3.9 to 3.13", "use an AMI")


def test_the_exit_code_of_parallelcluster_is_a_code() -> None:
    said = "Failed to execute OnNodeConfigured script 1, return code: 39."
    assert only([LogLine(START, "s", said)]).code == "LFN39"


def test_lines_of_other_programs_are_ignored() -> None:
    assert own_text("Reading package lists...") is None
    assert parse_runs([LogLine(START, "s", "Cloud-init v. 24.1 finished")]) == []


def test_the_step_of_each_line(ends: tuple[Ended, Ended]) -> None:
    steps = {step_of(line.text) for line in lines_of(ends[0])}
    assert {"disks", "mount_lustre", "training", None} <= steps
