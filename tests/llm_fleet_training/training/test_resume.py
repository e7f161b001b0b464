"""An interrupted run ends with bit-identical parameters."""

import json
import shutil
from typing import Any

import pytest

from tests.llm_fleet_training.runs import Run

KILL = {"do": "kill", "rank": 0}


def losses(run: Run) -> list[float]:
    """Losses and gradient norms: AdamW would hide a wrong scale of gradients."""
    return [value for row in run.rows for value in (row["loss"], row["gradient_norm"])]


@pytest.fixture
def undisturbed(run: Run) -> dict[str, Any]:
    """The result of the run without interruption; the run's folder is then emptied."""
    ended = run.train()
    assert ended.codes == [0], ended.said
    result = {**run.result, "losses": losses(run)}
    for place in ("metrics.jsonl", "result.json"):
        (run.folder / place).unlink()
    run.checkpoints.rename(run.folder / "undisturbed")
    return result


def test_a_resumed_run_is_bit_identical(run: Run, undisturbed: dict[str, Any]):
    assert run.train(more={"fault": {"do": "signal", "point": "renamed", "nth": 1}}).codes == [75]
    stopped_at = run.steps()[-1]
    assert 0 < stopped_at < 6
    ended = run.train()
    assert ended.codes == [0], ended.said
    assert f"resumes from step {stopped_at} " in ended.said
    assert run.result["parameters_sha256"] == undisturbed["parameters_sha256"]
    assert losses(run) == undisturbed["losses"]
    assert [row["restart"] for row in run.rows] == [0] * stopped_at + [1] * (6 - stopped_at)


def test_a_kill_at_any_point_of_a_write_does_not_change_the_result(run: Run):
    """The second checkpoint's write, and the first one's removal after it, are ended by SIGKILL at each point."""
    run.options = {"steps": 4, "checkpoints_kept": 1, "global_batch": 2}
    seen = run.folder / "points.json"
    assert run.train(more={"points": str(seen)}).codes == [0]
    expected = run.result["parameters_sha256"]
    points: list[str] = json.loads(seen.read_text())
    first = points[: points.index("committed") + 1]
    names = list(dict.fromkeys(points))
    assert {"before record", "record unforced", "before rename", "renamed", "doomed", "pruned"} <= set(names)
    assert {"write model-tp00-of-01.safetensors", "write optimizer-tp00-of-01.pt"} <= set(names)
    for point in names:
        _clear(run)
        died = run.train(more={"fault": {**KILL, "point": point, "nth": first.count(point) + 1}})
        assert died.codes == [-9], (point, died.said)
        ended = run.train()
        assert ended.codes == [0], (point, ended.said)
        assert "resumes from step" in ended.said, point
        assert run.result["parameters_sha256"] == expected, point
        assert [place.name for place in run.checkpoints.iterdir()] == ["step_00000004"], point


def _clear(run: Run) -> None:
    shutil.rmtree(run.checkpoints, ignore_errors=True)
    for place in ("metrics.jsonl", "result.json"):
        (run.folder / place).unlink(missing_ok=True)


def test_four_processes_with_a_lost_one_have_the_loss_of_one_process(run: Run, undisturbed: dict[str, Any]):
    spread: dict[str, Any] = {"tensor_parallel": 2, "processes": 4, "micro_batch": 1}
    whole = run.train(**spread)
    assert whole.codes == [0] * 4, whole.said
    expected = run.result["parameters_sha256"]
    assert losses(run) == pytest.approx(undisturbed["losses"], rel=3e-4)
    _clear(run)
    died = run.train(**spread, more={"fault": {"do": "kill", "rank": 1, "point": "written optimizer", "nth": 2}})
    assert died.codes[1] == -9
    assert all(died.codes)
    assert run.steps() == [2]
    ended = run.train(**spread)
    assert ended.codes == [0] * 4, ended.said
    assert "resumes from step 2 " in ended.said
    assert ".part is removed: a failed attempt left it" in ended.said
    assert run.result["parameters_sha256"] == expected


def test_a_completed_run_is_not_repeated(run: Run, undisturbed: dict[str, Any]):
    assert run.train().codes == [0]
    again = run.train()
    assert again.codes == [0], again.said
    assert "step 1/6" not in again.said
    assert run.result["parameters_sha256"] == undisturbed["parameters_sha256"]


def test_fsdp_over_two_processes_resumes_bit_identically(run: Run, undisturbed: dict[str, Any]):
    run.options = {"backend": "fsdp", "micro_batch": 1}
    whole = run.train(processes=2)
    assert whole.codes == [0, 0], whole.said
    expected = run.result
    assert losses(run) == pytest.approx(undisturbed["losses"], rel=3e-4)
    _clear(run)
    died = run.train(processes=2, more={"fault": {**KILL, "point": "before rename", "nth": 2}})
    assert died.codes[0] == -9
    ended = run.train(processes=2)
    assert ended.codes == [0, 0], ended.said
    assert "resumes from step 2 " in ended.said
    assert run.result["parameters_sha256"] == expected["parameters_sha256"]
