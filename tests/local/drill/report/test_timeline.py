"""The picture of a run shows every step without overlaps, and the page is self-contained."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from llm_fleet_local.drill.report.model import Event, Run, ScriptRun, StandInUse, StepRun, read_script_run
from llm_fleet_local.drill.report.page import acts, page
from llm_fleet_local.drill.report.text import summary
from llm_fleet_local.drill.report.timeline import hover_text, lanes, timeline


def step(
    name: str, started: float | None, ended: float | None, state: str = "done", code: str | None = None
) -> StepRun:
    changes = ("wrote /etc/x",) if state == "done" else ()
    cause, remedy = ("it is <broken>", "fix it") if code else (None, None)
    return StepRun(name, f"{name} is so", state, started, ended, {"apply": 0.2}, changes, 1, code, cause, remedy)


def script(node: str, *steps: StepRun, started: float = 100, ended: float = 110, code: int = 0) -> ScriptRun:
    reported = "LFN99" if code else "OK"
    return ScriptRun(
        node, "Compute", started, ended, code, reported, None, None, steps, tuple(s.name for s in steps[:1])
    )


def run(*scripts: ScriptRun) -> Run:
    return Run(
        title="Drill of <a fleet>",
        verdict="healthy",
        machine="2 processors",
        content_hash="ab" * 32,
        proof=("content hash: abab",),
        profile={"SlurmdTimeout": "8"},
        started=100,
        events=(Event(101, "w-1", "lost", "the machine is gone"),),
        scripts=scripts,
        stand_ins=(StandInUse("mount.lustre", "the client", "wrong names", "prove striping", 4),),
        timings={"from here to there": 4.25},
    )


def test_no_step_overlaps_another():
    steps = [step("a", 1, 4), step("b", 2, 3), step("c", 3, 5), step("d", 4, 6), step("e", None, None)]
    assert [[one.name for one in lane] for lane in lanes(steps)] == [["a", "d"], ["b", "c"]]


def test_every_started_step_is_drawn_within_its_row():
    drawn = timeline([script("w-1", step("hosts", 100.5, 101), step("slurmd", 101, 109)), script("w-2")])
    assert drawn.count('<g class="step ') == 2
    x, width = map(float, re.findall(r'<g class="step done"><rect x="([\d.]+)"[^>]*width="([\d.]+)"', drawn)[0])
    assert 130 < x < x + width < 1180


def test_the_critical_path_is_marked_only_on_the_slowest_node():
    drawn = timeline([script("w-1", step("a", 100, 101)), script("w-2", step("b", 100, 112), ended=112)])
    assert re.findall(r'class="step done path".*?<title>(\w+):', drawn) == ["b"]


def test_a_step_that_waited_for_another_node_is_drawn_as_waiting_and_is_in_the_slowest_path():
    waiting = replace(step("environment", 101, 109.5), changes=())
    runs = [script("w-1", step("environment", 101, 109)), script("w-2", waiting, ended=111)]
    assert re.findall(r'class="step (\w+)( path)?".*?<title>', timeline(runs)) == [("done", ""), ("waited", " path")]
    assert "slowest path: w-2: environment (waited for w-1)" in "\n".join(summary(run(*runs)))
    alone = [script("w-1", step("hosts", 101, 101.4)), script("w-2", replace(step("hosts", 101, 101.5), changes=()))]
    assert "unchanged" in timeline(alone)


def test_a_failed_step_reports_code_cause_and_remedy():
    reported = hover_text(step("slurmd", 1, 2, state="failed", code="LFN60"))
    assert "LFN60  it is <broken>" in reported
    assert "remedy: fix it" in reported


def test_overlapping_starts_are_one_act():
    scripts = [script("w-1"), script("w-2", started=105, ended=112), script("w-1", started=130, ended=133)]
    assert [title for title, _ in acts(run(*scripts))] == ["2 nodes, 12.0 s", "w-1, 3.0 s"]


def test_the_page_loads_nothing_and_escapes_texts():
    failed = script("w-1", step("slurmd", 101, 102, state="failed", code="LFN60"), code=1)
    reported = page(run(failed))
    assert not re.findall(r"<script|<link|src=|href=|url\(|@import", reported)
    assert "it is &lt;broken&gt;" in reported
    assert "<broken>" not in reported
    checker = _Balanced()
    checker.feed(reported)
    assert checker.open == []


def test_a_node_without_a_report_is_listed():
    left_nothing = read_script_run(None, node="w-9", role="Compute", started=1, ended=2, exit_code=137)
    assert "w-9: none no report" in "\n".join(summary(run(left_nothing)))
    assert "ended with 137 and left no report" in page(run(left_nothing))


@pytest.mark.parametrize(("code", "expected"), [("LFN60", 1), (None, 0)])
def test_the_summary_reports_each_failure_with_its_remedy(code: str | None, expected: int):
    lines = "\n".join(summary(run(script("w-1", step("slurmd", 1, 2, code=code)))))
    assert lines.count("what to do: fix it") == expected
    assert "mount.lustre (4)" in lines


class _Balanced(HTMLParser):
    """Checks that every tag is closed."""

    _ALONE = ("meta", "br", "rect", "line")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self._ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._ALONE:
            assert self.open.pop() == tag
