"""Damaged checkpoints are reported: the next usable one is taken, and never step 0 silently."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.llm_fleet_training.runs import Run, write_model


@pytest.fixture
def begun(run: Run) -> Run:
    """A run that was killed while it wrote its third checkpoint: those of steps 2 and 4 exist."""
    died = run.train(more={"fault": {"do": "kill", "point": "before record", "nth": 3}})
    assert died.codes == [-9], died.said
    assert run.steps() == [2, 4]
    return run


def weights(run: Run, step: int) -> Path:
    return run.checkpoints / f"step_{step:08}/model-tp00-of-01.safetensors"


def cut_off(path: Path) -> str:
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    return f"model-tp00-of-01.safetensors has 1000 bytes, {len(whole)} were written"


def missing(path: Path) -> str:
    path.unlink()
    return "model-tp00-of-01.safetensors is missing"


def flipped(path: Path) -> str:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    return "model-tp00-of-01.safetensors is damaged: its SHA-256 differs from the record"


def no_record(path: Path) -> str:
    path.with_name("checkpoint.json").unlink()
    return "checkpoint.json is missing"


def torn_record(path: Path) -> str:
    record = path.with_name("checkpoint.json")
    record.write_text(record.read_text()[:200])
    return "checkpoint.json cannot be read"


DAMAGES = [cut_off, missing, flipped, no_record, torn_record]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_skipped_with_the_reason(begun: Run, damage: Callable[[Path], str]):
    assert begun.steps() == [2, 4]
    why = damage(weights(begun, 4))
    ended = begun.train()
    assert ended.codes == [0], ended.said
    assert f"step_00000004 is skipped: {why}" in ended.said
    assert "resumes from step 2 " in ended.said
    assert begun.steps() == [4, 6], "step 4 was written again"


def test_if_all_checkpoints_are_damaged_it_does_not_restart_from_step_0(begun: Run):
    flipped(weights(begun, 2))
    cut_off(weights(begun, 4))
    ended = begun.train()
    assert ended.codes == [3]
    assert "LFJ14: no checkpoint in" in ended.said
    assert "step_00000002: model-tp00-of-01.safetensors is damaged" in ended.said
    assert "remedy: restore" in ended.said
    assert "begins at step 0" not in ended.said
    assert begun.steps() == [2, 4], "they are kept for diagnosis"


def test_another_model_is_rejected_with_both_values(begun: Run):
    write_model(begun.folder / "model", num_hidden_layers=3)
    ended = begun.train()
    assert ended.codes == [3]
    assert "LFJ12" in ended.said
    assert "layers was 2, is 3" in ended.said


def test_another_world_size_is_rejected_with_both_values(begun: Run, tmp_path: Path):
    word = tmp_path / "failure.json"
    ended = begun.train(processes=2, more={"environment": {"LLM_FLEET_FAILURE_FILE": str(word)}})
    assert ended.codes == [3, 3]
    assert ended.said.count("LFJ13") == 1, "one process prints it"
    assert "processes was 1, is 2" in ended.said
    assert "data degree was 1, is 2" in ended.said
    reported = json.loads(word.read_text())
    assert (reported["code"], reported["final"]) == ("LFJ13", True)


def test_a_full_disk_keeps_the_last_checkpoint(run: Run):
    """Process 1 of 2 gets ENOSPC while writing its second file: both processes end with the reason."""
    points = run.folder / "points.json"
    assert run.train(steps=2, more={"points": str(points)}).codes == [0]
    written = sum(point.startswith("write optimizer") for point in json.loads(points.read_text()))
    shutil.rmtree(run.checkpoints)
    fault = {"do": "space", "rank": 1, "point": "write optimizer", "nth": written + 5}
    ended = run.train(processes=2, tensor_parallel=2, more={"fault": fault})
    assert ended.codes == [3, 3], ended.said
    assert ended.said.count("LFJ11: process 1: a file: No space left on device") == 1
    assert [place.name for place in run.checkpoints.iterdir()] == ["step_00000002"], "no temporary folder is left"
    ended = run.train(processes=2, tensor_parallel=2)
    assert ended.codes == [0, 0], ended.said
    assert "resumes from step 2 " in ended.said


def test_an_unwritable_folder_is_reported_at_the_start(run: Run):
    ended = run.train(run_folder="/sys/llm-fleet")
    assert ended.codes == [3]
    assert "LFJ10: /sys/llm-fleet" in ended.said
    assert "step 1/" not in ended.said


def test_pruning_keeps_the_newest_and_those_in_use(begun: Run):
    (begun.checkpoints / ".step_00000002.node-1.held").touch()
    assert begun.train(checkpoints_kept=1).codes == [0]
    assert begun.steps() == [2, 6]
