"""Rejected starts, starts that only compile, starts from weights, and signals with torchrun."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.llm_fleet_training.runs import PYTHON, ROOT, Run, free_port, write_tokens

BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"tensor_parallel": 3}, "LFJ04", "tensor parallel 3 does not divide 1 processes"),
    ({"tensor_parallel": 3}, "LFJ04", "tensor parallel 3 does not divide the model's 4 attention heads"),
    ({"micro_batch": 3}, "LFJ05", "global batch 4 must be a multiple of micro batch 3 x data degree 1"),
    ({"sequence_length": 65}, "LFJ07", "sequence length 65 is above the model's 64 positions"),
    ({"backend": "tpu"}, "LFJ09", "backend `tpu` is unknown; allowed: cpu, fsdp"),
    ({"backend": "cpu", "shard_degree": 2}, "LFJ04", "backend `cpu` has no shard degree, but it is set to 2"),
    ({"context_parallel": 4, "shard_degree": 1}, "LFJ04", "context parallel 4 is above shard degree 1"),
    ({"steps": 0}, "LFJ01", "--steps is 0; it must be 1 or more"),
    ({"mirror": "bucket"}, "LFJ01", "--mirror is 'bucket'; it must begin with s3://"),
    ({"learning_rate": "nan"}, "LFJ01", "--learning-rate is nan; it must be a number above 0"),
    ({"weight_decay": -1, "beta1": 1}, "LFJ01", "--beta1 is 1.0; it must be 0 to below 1"),
    ({"learning_rate": 1e30}, "LFJ18", "the gradient norm of step 2 is nan"),
]


@pytest.mark.parametrize(("changes", "code", "cause"), BAD)
def test_invalid_input_is_reported_with_its_remedy(run: Run, changes: dict[str, Any], code: str, cause: str):
    ended = run.train(**changes)
    assert ended.codes == [3], ended.said
    assert re.search(rf"^{code}: .*{re.escape(cause)}.*\n  remedy: \w", ended.said, re.MULTILINE), ended.said


def test_check_reports_all_errors_and_starts_nothing(run: Run):
    write_tokens(run.folder / "tokens", count=10, vocabulary=256)
    arguments = [*run.arguments("check", tensor_parallel=3, micro_batch=3, model=run.folder), "--processes", "6"]
    ended = run.starter.start(arguments)
    assert ended.codes == [3]
    assert set(re.findall(r"LFJ\d\d", ended.said)) == {"LFJ03", "LFJ05"}
    ended = run.starter.start([*run.arguments("check", sequence_length=16, tensor_parallel=3), "--processes", "6"])
    assert set(re.findall(r"LFJ\d\d", ended.said)) == {"LFJ04", "LFJ07"}
    for number in ("0", "-1"):
        ended = run.starter.start([*run.arguments("check"), "--processes", number])
        assert (ended.codes, set(re.findall(r"LFJ\d\d", ended.said))) == ([3], {"LFJ01"})
        assert "Traceback" not in ended.said
    write_tokens(run.folder / "tokens")
    assert run.starter.start(run.arguments("check")).codes == [0]
    assert not run.checkpoints.exists()


def test_a_start_without_checkpoint_is_logged(run: Run):
    ended = run.starter.start(["checkpoints", "newest", "--run-folder", str(run.folder)])
    assert ended.codes == [3]
    assert "has no complete checkpoint" in ended.said


def test_tokens_of_another_model_and_truncated_tokens_are_rejected(run: Run):
    write_tokens(run.folder / "tokens", vocabulary=300)
    assert "LFJ06" in run.train().said
    write_tokens(run.folder / "tokens")
    with (run.folder / "tokens/tokens.bin").open("ab") as file:
        file.truncate(9000)
    ended = run.train()
    assert "has 9000 bytes; 5000 tokens of uint16 are 10000 bytes" in ended.said
    (run.folder / "tokens/tokens.json").unlink()
    assert "`tokenize` has not run" in run.train().said


def test_compile_only_saves_nothing_and_needs_no_tokens(run: Run):
    (run.folder / "tokens/tokens.json").unlink()
    ended = run.train(compile_only=2)
    assert ended.codes == [0], ended.said
    assert {place.name for place in run.folder.iterdir()} == {"model", "tokens"}


def test_recomputed_activations_have_the_same_result(run: Run):
    found: set[str] = set()
    for what in ("none", "selective", "full"):
        run.folder = run.folder.with_name(what)
        write_tokens(run.folder / "tokens")
        changes: dict[str, Any] = {"model": run.folder.parent / "run/model", "activation_checkpointing": what}
        assert run.train(**changes).codes == [0]
        found.add(run.result["parameters_sha256"])
    assert len(found) == 1


def test_tensorboard_events_are_written_and_an_incomplete_row_is_removed(run: Run):
    (run.folder / "metrics.jsonl").write_text('{"step": 1, "restart": 4}\n{"step": 2, "rest')
    assert run.train().codes == [0]
    assert [row["step"] for row in run.rows] == [1, 1, 2, 3, 4, 5, 6]
    assert run.rows[-1]["restart"] == 5
    assert run.rows[-1]["checkpoint_seconds"] > 0
    assert run.rows[-2]["checkpoint_seconds"] == 0
    assert list((run.folder / "logs/tensorboard").glob("events.out.tfevents.*"))


def test_torchrun_forwards_a_signal_and_the_requeued_job_resumes(run: Run, tmp_path: Path):
    """As in a batch file: the agent gets SIGTERM, both processes stop at the same step and write a checkpoint."""
    command = [
        str(PYTHON), "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", str(free_port()),
        "-m", "llm_fleet_training", *run.arguments("train", tensor_parallel=2, steps=100000, checkpoint_every=100000),
    ]  # fmt: skip
    word = tmp_path / "failure.json"
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT / "lifecycle_scripts"), "LLM_FLEET_FAILURE_FILE": str(word),
    }  # fmt: skip
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + 60
    while not (run.folder / "metrics.jsonl").exists() or not run.rows:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=30)[0]
    stopped = re.search(r"stopped by SIGTERM at step (\d+)", said)
    assert stopped, said
    assert process.returncode != 0
    assert run.steps() == [int(stopped.group(1))]
    assert not word.exists(), "a restart is expected"
    steps = int(stopped.group(1)) + 1
    ended = run.train(processes=2, tensor_parallel=2, steps=steps)
    assert ended.codes == [0, 0], ended.said
    assert f"resumes from step {steps - 1} " in ended.said


def test_a_signal_ends_the_process_even_with_a_lost_peer(run: Run):
    """Process 1 is frozen like a lost node: process 0 waits in a collective, where Python handles no signal."""
    begin = time.monotonic()
    endless: dict[str, Any] = {"steps": 100000, "checkpoint_every": 100000}
    ended = run.train(processes=2, tensor_parallel=2, more={"lost_after": 1.5, "patience": 0.5}, **endless)
    assert "step 2/" in ended.said
    assert ended.codes == [1, -9], ended.said[-2000:]
    assert "of the signal: a peer is lost" in ended.said
    assert time.monotonic() - begin < 20


def test_the_result_identifies_its_run(run: Run):
    assert run.train().codes == [0]
    record = json.loads((run.checkpoints / "step_00000006/checkpoint.json").read_text())
    assert record["fingerprint"] == run.result["fingerprint"]
    assert record["tokens_seen"] == 6 * 4 * 16
    assert run.result["steps"] == 6
    assert run.result["final_loss"] == run.rows[-1]["loss"]
