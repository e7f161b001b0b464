"""The results of training: computed from the rows of the runs, and drawn with every step."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_local.drill.report.curves import curves
from llm_fleet_local.drill.report.model import Environment, ScriptRun, StepRun, environment_of
from llm_fleet_local.drill.report.training import lines, section
from llm_fleet_local.drill.training.metrics import Row, read_rows
from llm_fleet_local.drill.training.outcome import Trained, Training

SAME, OTHER = "a" * 64, "b" * 64


def row(step: int, *, at: float, restart: int = 0, saved: float = 0.0) -> Row:
    return Row(step, 7.0 - step / 10, 0.2, saved, restart, at)


UNDISTURBED = Trained("tiny", tuple(row(n, at=n, saved=0.4 if n % 4 == 0 else 0.0) for n in range(1, 9)), SAME, 0)
BROKEN = (*(row(n, at=n) for n in range(1, 7)), *(row(n, at=30 + n, restart=1) for n in range(5, 9)))
TRAINING = Training(UNDISTURBED, Trained("tiny-again", BROKEN, SAME, 1), "workers-2", 6.5, (("a", "b"), ("a", "c")))


def test_lost_seconds_and_steps_are_counted_from_the_loss_to_the_first_step_after_it():
    assert TRAINING.seconds_to_first_step == 28.5
    assert TRAINING.steps_lost == 2
    assert UNDISTURBED.checkpoint_share == pytest.approx(0.8 / (0.8 + 8 * 0.2))


def test_a_step_with_another_loss_value_and_a_run_without_failure_are_detected():
    assert TRAINING.is_same_curve
    assert TRAINING.went_on
    rows = (*BROKEN[:-1], replace(BROKEN[-1], loss=BROKEN[-1].loss + 1e-9))
    other = replace(TRAINING, disturbed=replace(TRAINING.disturbed, rows=rows))
    assert not other.is_same_curve
    assert "some steps had different losses" in lines(other)[-1]
    assert 'class="verdict wrong"' in section(other)
    shorter = replace(TRAINING, disturbed=replace(TRAINING.disturbed, rows=BROKEN[:-1]))
    assert not shorter.is_same_curve, "a step is missing"
    again = tuple(row(n, at=30 + n, restart=1) for n in range(1, 9))
    for rows in (UNDISTURBED.rows, (*BROKEN[:6], *again), again):
        assert not replace(TRAINING, disturbed=replace(TRAINING.disturbed, rows=rows)).went_on


def test_every_step_is_drawn_and_repeated_steps_as_rings():
    drawn = curves(TRAINING)
    points = [match.split() for match in re.findall(r'points="([^"]+)"', drawn)]
    assert [len(line) for line in points] == [8, 6, 4]
    assert points[2][-1] == points[0][-1], "the last step of both is at the same place"
    assert re.findall(r"<title>step (\d+) was repeated", drawn) == ["5", "6"]
    x = re.findall(r'class="lost" x1="([\d.]+)"', drawn)
    assert x == [points[1][5].split(",")[0]], "the node is lost at the last step before it"
    numbers = [float(number) for line in points for point in line for number in point.split(",")]
    assert min(numbers) > 0


def test_the_page_and_the_lines_report_hashes_and_whether_they_are_the_same():
    differs = replace(TRAINING, disturbed=replace(TRAINING.disturbed, parameters_sha256=OTHER))
    for reported in (section(TRAINING), "\n".join(lines(TRAINING))):
        assert "Both runs ended with identical parameters, and each step had the same loss." in reported
        assert reported.count(SAME) == 2
        assert "28.5 s" in reported
    for reported in (section(differs), "\n".join(lines(differs))):
        assert "The runs ended with different parameters" in reported
        assert OTHER in reported
    assert 'class="verdict wrong"' in section(differs)
    assert 'class="verdict"' in section(TRAINING)


def test_an_incomplete_line_is_not_a_row(tmp_path: Path):
    reported = {"step": 3, "loss": 6.5, "seconds": 0.25, "checkpoint_seconds": 0.0, "restart": 0}
    whole = json.dumps({**reported, "time": "2026-11-20T21:00:00.500+00:00"})
    (tmp_path / "metrics.jsonl").write_text(f"{whole}\n{whole[:20]}")
    assert read_rows(tmp_path) == [Row(3, 6.5, 0.25, 0.0, 0, 1795208400.5)]
    assert read_rows(tmp_path / "none") == []


def node(name: str, *changes: str, started: float, ended: float, verify: float) -> ScriptRun:
    seconds = {"apply": ended - started, "verify": verify}
    step = StepRun("training_environment", "", "done", started, ended, seconds, changes, 1, None, None, None)
    return ScriptRun(name, "Compute", started, ended, 0, "OK", None, None, (step,), ())


def test_one_node_builds_the_environment_and_the_others_use_it():
    runs = [
        node("w-1", started=0, ended=31, verify=0.1),
        node("w-2", "fetched torch", "installed 38 wheels", started=0, ended=30, verify=0.2),
        node("w-2", started=90, ended=90.1, verify=0.1),  # started again: the first time counts
    ]
    assert environment_of(runs) == Environment("w-2", 30, 1, 0.2)
    assert environment_of(runs[:1]) is None
    both = [runs[1], node("w-3", "fetched torch", started=0, ended=30, verify=0.1)]
    assert environment_of(both) is None, "two have built it"
