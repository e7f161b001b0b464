"""The check of a model: its findings for a folder, in the function and in the container."""

import ast
import inspect
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.lifecycle.model_checker import check
from llm_fleet.lifecycle.model_checker.check import Folder, findings, main
from tests.lifecycle.model_checker.models import MARKER, OPTIMUM, REQUESTED, put


def test_an_exported_model_is_as_requested(tmp_path: Path):
    assert findings(REQUESTED, put(tmp_path, neuron_config=OPTIMUM)) == []


def test_the_marker_of_an_export_has_priority_over_the_file_of_optimum_neuron(tmp_path: Path):
    files = put(tmp_path, marker=MARKER, neuron_config={**OPTIMUM, "batch_size": 99})
    assert findings(REQUESTED, files) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"tensor_parallel": 8},
            "compiled for tensor parallelism 2, and the server requires 8; write tensor_parallel 2",
        ),
        ({"batch_size": 1}, "compiled for batches of 4, and the server requires 1; write batch_size 4"),
        ({"sequence_length": 8192}, "sequences of 4096, and the server requires 8192; write sequence_length 4096"),
        ({"compiler": "2.21.33363.0"}, "by neuronx-cc 2.19.8089.0, and the server's image has 2.21.33363.0"),
        (
            {"dtype": "fp16"},
            "compiled in bfloat16, and the server requires float16; set the server to cast to bfloat16",
        ),
        ({"target": "trn2"}, "compiled for trn1, but the service runs trn2"),
    ],
)
def test_a_mismatch_is_reported_with_both_sides_and_the_remedy(tmp_path: Path, changed: dict[str, Any], words: str):
    (line,) = findings({**REQUESTED, **changed}, put(tmp_path, neuron_config={**OPTIMUM, "target": "trn1"}))
    assert line.startswith(f"model-mismatch: {tmp_path} was compiled ")
    assert words in line
    assert "export it again" in line


def test_every_mismatch_is_reported_together(tmp_path: Path):
    requested = {**REQUESTED, "tensor_parallel": 8, "batch_size": 1, "compiler": "2.0"}
    assert len(findings(requested, put(tmp_path, neuron_config=OPTIMUM))) == 3


@pytest.mark.parametrize("target", ["inf2", "trn1", "trn1n", None])
@pytest.mark.parametrize("requested", ["inf2", "trn1"])
def test_what_is_compiled_for_trn1_runs_on_inf2_and_the_other_way_round(
    tmp_path: Path, target: str | None, requested: str
):
    found = findings({**REQUESTED, "target": requested}, put(tmp_path, neuron_config={**OPTIMUM, "target": target}))
    assert found == []


def test_an_unknown_compiler_is_not_compared(tmp_path: Path):
    assert (
        findings({**REQUESTED, "compiler": None}, put(tmp_path, neuron_config={**OPTIMUM, "neuronxcc_version": "1"}))
        == []
    )


@pytest.mark.parametrize("path", ["gone", "."])
def test_a_missing_folder_is_reported(tmp_path: Path, path: str):
    (line,) = findings(REQUESTED, Folder(str(tmp_path / path)))
    assert line.startswith("model-missing: ")
    assert "is empty or does not exist" in line


def test_a_plain_checkpoint_is_reported_unless_the_model_is_set_as_plain(tmp_path: Path):
    files = put(tmp_path, compiled=False)
    (line,) = findings(REQUESTED, files)
    assert line.startswith(f"model-not-compiled: {tmp_path} has no neuron_config.json")
    assert findings({**REQUESTED, "compiled": False}, files) == []


def test_sizes_of_a_model_that_is_set_as_plain_are_not_compared(tmp_path: Path):
    requested = {**REQUESTED, "compiled": False, "batch_size": 1}
    assert findings(requested, put(tmp_path, neuron_config=OPTIMUM)) == []


def test_an_export_of_an_older_optimum_neuron_is_reported(tmp_path: Path):
    neuron = {"num_cores": 2, "batch_size": 1, "sequence_length": 4096, "compiler_version": "2.15.128.0"}
    files = put(tmp_path, compiled=False, config={"neuron": neuron})
    found = findings(REQUESTED, files)
    assert [line.split(":")[0] for line in found] == ["model-not-compiled", "model-mismatch", "model-mismatch"]
    assert "has no model.pt" in found[0]


def test_an_export_without_its_weights_is_reported(tmp_path: Path):
    put(tmp_path, neuron_config=OPTIMUM)
    (tmp_path / "checkpoint/weights/tp0_sharded_checkpoint.safetensors").unlink()
    (line,) = findings(REQUESTED, Folder(str(tmp_path)))
    assert line.startswith(f"model-without-weights: {tmp_path} has no weights")


def test_weights_in_one_file_are_too_large_for_a_small_host(tmp_path: Path):
    files = put(tmp_path, neuron_config=OPTIMUM)
    (tmp_path / "checkpoint/weights/tp0_sharded_checkpoint.safetensors").rename(tmp_path / "model.safetensors")
    (line,) = findings(REQUESTED, files)
    assert line.startswith(f"model-not-sharded: {tmp_path} has unsharded weights")
    assert findings({**REQUESTED, "shards_needed": False}, files) == []


def test_a_model_in_a_subfolder_is_reported(tmp_path: Path):
    put(tmp_path / "tanuki-8b", neuron_config=OPTIMUM)
    found = findings({**REQUESTED, "compiled": False}, Folder(str(tmp_path)))
    assert [line.split(":")[0] for line in found] == ["model-missing"]
    assert "has no config.json" in found[0]


@pytest.mark.parametrize("text", ["{", "[]", "\xff", "[" * 100_000])
def test_an_unreadable_file_is_reported(tmp_path: Path, text: str):
    files = put(tmp_path, neuron_config=OPTIMUM)
    (tmp_path / "neuron_config.json").write_bytes(text.encode("latin-1"))
    (line,) = findings(REQUESTED, files)
    assert line.startswith(f"model-unreadable: {tmp_path} has a file that cannot be read: neuron_config.json")


def test_compiled_files_of_other_servers_are_not_checked(tmp_path: Path):
    requested = {**REQUESTED, "layout": "other"}
    assert findings(requested, put(tmp_path, compiled=False)) == []
    nested = {"neuron_config": {"tp_degree": 8, "batch_size": 4, "seq_len": 4096}}
    (line,) = findings(requested, put(tmp_path, neuron_config=nested))
    assert "compiled for tensor parallelism 8" in line


def test_the_container_prints_the_result_and_exits_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    put(tmp_path, neuron_config=OPTIMUM)
    assert main(_environment(tmp_path, REQUESTED)) == 0
    assert capsys.readouterr().out == f"model-ok: {tmp_path} matches the server's settings\n"
    assert main(_environment(tmp_path, {**REQUESTED, "batch_size": 1})) == 1
    assert capsys.readouterr().out.startswith("model-mismatch: ")


def test_it_runs_as_one_text_without_installed_packages(tmp_path: Path):
    put(tmp_path, neuron_config=OPTIMUM)
    source = Path(inspect.getfile(check)).read_text()
    requested = {**REQUESTED, "tensor_parallel": 1}
    command = [sys.executable, "-I", "-S", "-c", source]
    ended = subprocess.run(command, env=_environment(tmp_path, requested), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.startswith("model-mismatch: ")


def test_it_is_valid_python_3_9_and_short_enough_for_a_task_definition():
    source = Path(inspect.getfile(check)).read_text()
    ast.parse(source, feature_version=(3, 9))
    assert "from __future__ import annotations" in source
    assert len(source) < 10_000


def _environment(folder: Path, requested: Mapping[str, Any]) -> dict[str, str]:
    return {"LLM_FLEET_MODEL_REQUESTED": json.dumps(dict(requested)), "LLM_FLEET_MODEL_PATH": str(folder)}
