"""From a folder of weights to a model that the service accepts, with the real trainer in two processes."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.lifecycle.model_checker.check import Folder, findings
from llm_fleet_training.__main__ import main
from llm_fleet_training.serving.server import Serving
from tests.llm_fleet_training.runs import Run, Starter
from tests.llm_fleet_training.stand_ins.programs import Programs
from tests.llm_fleet_training.tiny_model import TEXT, VOCABULARY, model_files, put


@pytest.fixture
def begun(torch: object, starter: Starter, tmp_path: Path) -> Run:
    """A run with weights and tokens of `download` and `tokenize`."""
    source = put(tmp_path / "source", model_files())
    data = put(tmp_path / "data", {"a.jsonl": "\n".join(json.dumps({"text": text}) for text in TEXT * 40).encode()})
    folder = tmp_path / "run"
    assert main(["download", "--model", str(source), "--to", str(folder / "weights")]) == 0
    assert main(["tokenize", "--run-folder", str(folder), "--data", str(data), "--processes", "1"]) == 0
    return Run(folder, starter, {"model": folder / "weights", "from_weights": folder / "weights", "steps": 2})


def _convert(run: Run, *more: str) -> str:
    """The digest of the converted weights, in float32."""
    assert main(["convert", "--run-folder", str(run.folder), "--dtype", "float32", *more]) == 0
    return json.loads((run.folder / "huggingface" / "convert.json").read_text())["parameters_sha256"]


def _of_the_trainer(run: Run, tokens: Any) -> Any:
    """Logits of the trainer's own model."""
    llama = import_module("llm_fleet_training.model.llama")
    layers = import_module("llm_fleet_training.model.layers")
    config = import_module("llm_fleet_training.model.config").read(run.folder / "weights")
    model = llama.Llama(config, layers.WholeLayers())
    pretrained = import_module("llm_fleet_training.model.pretrained").Pretrained(run.folder / "huggingface", config)
    held = {name: pretrained.slice(name, 1, 0) for name, _ in model.named_parameters()}
    model.load_state_dict(held)
    return model(tokens)


def test_from_a_folder_of_weights_to_a_served_model(
    begun: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    torch: Any = import_module("torch")
    programs = Programs(tmp_path / "programs", monkeypatch)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    ended = begun.train(processes=2, tensor_parallel=2)
    assert ended.codes == [0, 0], ended.said
    assert _convert(begun) == begun.result["parameters_sha256"]
    assert "parameters match result.json of the training" in capsys.readouterr().out
    model: Any = import_module("transformers").AutoModelForCausalLM.from_pretrained(str(begun.folder / "huggingface"))
    tokens = torch.randint(0, VOCABULARY, (2, 16), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        torch.testing.assert_close(model(tokens).logits, _of_the_trainer(begun, tokens), rtol=1e-5, atol=1e-5)
    served = ["--run-folder", str(begun.folder), "--server", "tgi", "--instance-type", "inf2.xlarge"]
    assert main(["export", *served]) == 0
    assert main(["register", *served, "--to", "s3://models/tiny"]) == 0
    place = Folder(str(programs.bucket / "tiny"))
    assert findings(Serving("tgi", "inf2.xlarge").requested, place) == []


def test_converted_weights_can_be_trained_at_another_degree(begun: Run, tmp_path: Path):
    """The reverse way: with a learning rate that rounding removes, the parameters do not change."""
    assert begun.train(processes=2, tensor_parallel=2).codes == [0, 0]
    digest = _convert(begun)
    other = Run(tmp_path / "other", begun.starter, {**begun.options, "from_weights": begun.folder / "huggingface"})
    (begun.folder / "tokens").rename(tmp_path / "tokens")
    other.folder.mkdir()
    (tmp_path / "tokens").rename(other.folder / "tokens")
    still: dict[str, Any] = {"learning_rate": "1e-30", "minimum_learning_rate": "0"}
    ended = other.train(processes=4, tensor_parallel=4, **still)
    assert ended.codes == [0] * 4, ended.said
    assert other.result["parameters_sha256"] == digest


def test_shards_of_fsdp_are_joined(begun: Run):
    ended = begun.train(processes=2, backend="fsdp")
    assert ended.codes == [0, 0], ended.said
    assert _convert(begun) == begun.result["parameters_sha256"]
