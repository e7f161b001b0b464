"""The export, with stand-ins for optimum-neuron's command and for the Hub that write the same files."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.lifecycle.model_checker.check import Folder, findings
from llm_fleet.lifecycle.model_exporter import export
from tests.lifecycle.model_checker.models import OPTIMUM, REQUESTED

OPTIMUM_CLI = """#!{python}
import json, os, sys
open({log!r}, "w").write(json.dumps(sys.argv[1:]))
if {fails}:
    sys.exit("no space left")
model = sys.argv[-1]
os.makedirs(os.path.join(model, "checkpoint", "weights"))
open(os.path.join(model, "neuron_config.json"), "w").write({config!r})
for name in ("config.json", "model.pt", "checkpoint/weights/tp0_sharded_checkpoint.safetensors", "tokenizer.json"):
    open(os.path.join(model, name), "w").write("{{}}")
"""
ARGUMENTS = ["--task", "text-generation", "--batch_size", "4", "--sequence_length", "4096", "--num_cores", "2"]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    for name in ("config.json", "model.safetensors", "model.safetensors.index.json", "chat_template.jinja"):
        (checkpoint / name).write_text("{}")
    return tmp_path


def test_an_export_has_a_marker_and_passes_the_check(work: Path):
    ended = _run(work)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert _reported_to_optimum(work) == [
        "export",
        "neuron",
        "--model",
        f"{work}/checkpoint",
        *ARGUMENTS,
        f"{work}/model",
    ]
    marker = json.loads((work / "model" / "llm-fleet-model.json").read_text())
    assert marker == {
        "format": 1,
        "server": "tgi",
        "target": "inf2",
        "tensor_parallel": 2,
        "batch_size": 4,
        "sequence_length": 4096,
        "dtype": "bfloat16",
        "compiler": "2.19.8089.0+8ab9f450",
        "optimum_neuron": "0.3.0",
    }
    assert findings(REQUESTED, Folder(str(work / "model"))) == []


def test_the_marker_has_the_actual_settings_and_not_the_requested_ones(work: Path):
    assert _run(work, config={**OPTIMUM, "batch_size": 1}).returncode == 0
    (line,) = findings(REQUESTED, Folder(str(work / "model")))
    assert "compiled for batches of 1, and the server requires 4" in line


def test_small_files_that_the_export_omits_are_copied_and_weights_are_not(work: Path):
    _run(work)
    made = {path.relative_to(work / "model").as_posix() for path in (work / "model").rglob("*") if path.is_file()}
    assert "chat_template.jinja" in made
    assert not {"model.safetensors", "model.safetensors.index.json"} & made


def test_a_failed_export_writes_no_marker(work: Path):
    ended = _run(work, fails=True)
    assert ended.returncode == 1
    assert "export-failed: optimum-cli ended with 1" in ended.stdout
    assert not (work / "model").exists()


def test_a_checkpoint_of_the_hub_is_downloaded_to_a_folder_first(work: Path):
    (work / "huggingface_hub.py").write_text(
        "import json\n"
        "def snapshot_download(repo_id, *, revision, local_dir, allow_patterns):\n"
        f"    open({str(work / 'hub.json')!r}, 'w').write(json.dumps([repo_id, revision, local_dir]))\n"
    )
    assert _run(work, hub_id="owner/name", revision="a1b2").returncode == 0
    assert json.loads((work / "hub.json").read_text()) == ["owner/name", "a1b2", f"{work}/checkpoint"]
    assert f"{work}/checkpoint" in _reported_to_optimum(work)


def _run(
    work: Path,
    *,
    config: dict[str, Any] = OPTIMUM,
    fails: bool = False,
    hub_id: str | None = None,
    revision: str | None = None,
) -> subprocess.CompletedProcess[str]:
    programs = work / "bin"
    programs.mkdir()
    command = programs / "optimum-cli"
    log = str(work / "optimum.json")
    command.write_text(OPTIMUM_CLI.format(python=sys.executable, log=log, config=json.dumps(config), fails=fails))
    command.chmod(0o755)
    variables = {
        "hub_id": hub_id,
        "revision": revision,
        "checkpoint": f"{work}/checkpoint",
        "model": f"{work}/model",
        "marker": "llm-fleet-model.json",
        "arguments": ARGUMENTS,
        "note": {"format": 1, "server": "tgi", "target": "inf2"},
    }
    source = Path(inspect.getfile(export)).read_text()
    return subprocess.run(
        [sys.executable, "-c", source],
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(work),
            "LLM_FLEET_EXPORT": json.dumps(variables),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def _reported_to_optimum(work: Path) -> list[str]:
    return json.loads((work / "optimum.json").read_text())
