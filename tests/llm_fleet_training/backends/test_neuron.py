"""The neuron backend with stand-ins that reject undocumented calls and really slice, reduce and shard."""

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_training.backends.neuron import make, stack
from llm_fleet_training.failures import Code, Failure
from llm_fleet_training.model.config import read
from llm_fleet_training.settings import Settings
from tests.llm_fleet_training.documented import documented
from tests.llm_fleet_training.runs import Run, write_model

FOUR: dict[str, Any] = {"backend": "neuron", "tensor_parallel": 2, "precision": "float32", "weight_decay": 0}


def moved(run: Run, name: str) -> Path:
    """Move the output of a run away, so that it can be started again."""
    aside = run.folder / name
    aside.mkdir()
    for made in ("checkpoints", "metrics.jsonl", "result.json"):
        shutil.move(run.folder / made, aside / made)
    return aside


@pytest.mark.parametrize(("kv_heads", "clip"), [(2, 0.1), (1, 0)])
def test_it_has_the_same_losses_as_the_cpu_backend(vendors_run: Run, kv_heads: int, clip: float):
    """Tensor parallel 2 x 2 replicas; with one key-value head, both ranks of a tensor-parallel group hold it."""
    write_model(vendors_run.folder / "model", num_key_value_heads=kv_heads)
    vendors_run.options = {**FOUR, "clip": clip}
    assert vendors_run.train(processes=4, backend="cpu").codes == [0] * 4
    expected, norms = [row["loss"] for row in vendors_run.rows], [row["gradient_norm"] for row in vendors_run.rows]
    moved(vendors_run, "cpu")
    ended = vendors_run.train(processes=4)
    assert ended.codes == [0] * 4, ended.said
    assert [row["loss"] for row in vendors_run.rows] == pytest.approx(expected, rel=2e-4)
    found = [row["gradient_norm"] for row in vendors_run.rows]
    if clip:  # Each norm is available one step later; without clipping NxD computes none.
        assert found[0] == 0.0
        assert found[1:] == pytest.approx(norms[:-1], rel=1e-3)


def test_a_stopped_run_has_the_same_result_and_its_slices_join_to_the_model(vendors_run: Run):
    vendors_run.options = {**FOUR, "precision": "mixed", "weight_decay": 0.1}
    ended = vendors_run.train(processes=4)
    assert ended.codes == [0] * 4, ended.said
    expected = vendors_run.result["parameters_sha256"]
    losses = [row["loss"] for row in vendors_run.rows]
    moved(vendors_run, "undisturbed")
    stop = {"fault": {"do": "signal", "point": "renamed", "nth": 1}}
    assert 75 in vendors_run.train(processes=4, more=stop).codes
    ended = vendors_run.train(processes=4)
    assert ended.codes == [0] * 4, ended.said
    assert "resumes from step" in ended.said
    assert vendors_run.result["parameters_sha256"] == expected
    assert [row["loss"] for row in vendors_run.rows] == losses
    assert _joined_sha256(vendors_run, vendors_run.steps()[-1]) == expected
    _convert(vendors_run, expected)


def _convert(run: Run, expected: str):
    """Run the verb `convert`; the weights were trained in bfloat16, so nothing is rounded."""
    files: Any = import_module("safetensors.torch")
    hashing: Any = import_module("llm_fleet_training.model.hashing")
    (run.folder / "model/tokenizer.json").write_text("{}")
    words = ["convert", "--run-folder", str(run.folder), "--model", str(run.folder / "model")]
    ended = run.starter.start(words)
    assert ended.codes == [0], ended.said
    weights: dict[str, Any] = {}
    for file in (run.folder / "huggingface").glob("*.safetensors"):
        weights.update(files.load_file(str(file)))
    assert hashing.parameters_sha256(weights, weights.__getitem__) == expected


def _joined_sha256(run: Run, step: int) -> str:
    """The digest of the slices of all tensor-parallel ranks, joined by the table as `convert` does."""
    numpy_free: Any = import_module("safetensors.torch")
    sharding: Any = import_module("llm_fleet_training.model.sharding")
    hashing: Any = import_module("llm_fleet_training.model.hashing")
    folder = run.checkpoints / f"step_{step:08}"
    files = sorted(folder.glob("model-tp*-of-02.safetensors"))
    assert len(files) == 2
    assert len(list(folder.glob("optimizer-tp*-of-02-dp*-of-02.pt"))) == 4
    slices = [numpy_free.load_file(str(file)) for file in files]
    assert str(slices[0]["lm_head.weight"].dtype) == "torch.bfloat16"
    config = read(run.folder / "model")
    assert set(slices[0]) == set(sharding.shapes(config))

    def whole(name: str) -> Any:
        return sharding.join(name, [one[name] for one in slices], config)

    return hashing.parameters_sha256(slices[0], whole)


def test_recomputed_activations_change_nothing(vendors_run: Run):
    vendors_run.options = {"backend": "neuron", "steps": 2}
    digests = set[str]()
    for what in ("none", "selective", "full"):
        ended = vendors_run.train(activation_checkpointing=what)
        assert ended.codes == [0], ended.said
        digests.add(vendors_run.result["parameters_sha256"])
        moved(vendors_run, what)
    assert len(digests) == 1


def test_pretrained_weights_are_copied_to_the_master_weights(vendors_run: Run):
    """With a very low learning rate, a run ends with its initial weights."""
    vendors_run.options = {"backend": "neuron", "steps": 2, "precision": "float32"}
    torch_files: Any = import_module("safetensors.torch")
    slices = "checkpoints/step_00000002/model-tp00-of-01.safetensors"
    assert vendors_run.train().codes == [0]
    begun = torch_files.load_file(str(moved(vendors_run, "first") / slices))
    weights = write_model(vendors_run.folder / "weights")
    torch_files.save_file(begun, str(weights / "model.safetensors"))
    ended = vendors_run.train(from_weights=weights, seed=5, learning_rate=1e-9, minimum_learning_rate=1e-9)
    assert ended.codes == [0], ended.said
    found = torch_files.load_file(str(vendors_run.folder / slices))
    assert all(found[name].sub(begun[name]).abs().max() < 1e-6 for name in begun)


def test_compiling_saves_nothing_and_ignores_results(vendors_run: Run):
    extract = {"environment": {"NEURON_EXTRACT_GRAPHS_ONLY": "1"}}
    ended = vendors_run.train(processes=2, more=extract, compile_only=2, **FOUR)
    assert ended.codes == [0, 0], ended.said
    assert "2 steps were run to compile" in ended.said
    assert not vendors_run.checkpoints.exists()
    assert not (vendors_run.folder / "result.json").exists()


@pytest.mark.parametrize("degree", ["pipeline_parallel", "context_parallel", "shard_degree"])
def test_unsupported_degrees_are_rejected(model_folder: Path, degree: str):
    settings: Any = {"run_folder": model_folder, "model": model_folder, "backend": "neuron", degree: 2}
    with pytest.raises(Failure, match="backend neuron") as failure:
        make(Settings(sequence_length=8, global_batch=1, steps=1, **settings), read(model_folder))
    assert failure.value.code is Code.DEGREES
    assert failure.value.final


@pytest.mark.parametrize(
    ("versions", "xla", "code", "reported"),
    [
        ({}, True, Code.NEURON_STACK, "torch-neuronx is not installed"),
        ({"torch-neuronx": "2.13.3.0"}, False, Code.NEURON_NATIVE, "2.13.3.0 is native TorchNeuron"),
        ({"torch-neuronx": "2.9.0.2.15.32035"}, True, Code.NEURON_STACK, "is installed without neuronx_distributed"),
        (
            {"torch-neuronx": "1.13.1.1.13.0", "neuronx-distributed": "0.6.0"},
            True,
            Code.NEURON_STACK,
            "0.6.0 is older than 0.8",
        ),
    ],
)
def test_another_stack_is_reported_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], xla: bool, code: Code, reported: str
):
    monkeypatch.setattr(stack, "_version", versions.get)
    monkeypatch.setattr(stack, "find_spec", lambda name: name if xla else None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(Failure) as failure:
        stack.check_stack()
    assert failure.value.code is code
    assert reported in failure.value.cause
    assert failure.value.final
    assert "2.28.1" in code.remedy


def test_the_stack_of_the_catalogs_release_is_accepted(monkeypatch: pytest.MonkeyPatch):
    versions = {"torch-neuronx": "2.9.0.2.12.22436", "neuronx-distributed": "0.17.26814"}
    monkeypatch.setattr(stack, "_version", versions.get)
    monkeypatch.setattr(stack, "find_spec", lambda name: name)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    stack.check_stack()


@pytest.mark.parametrize(("value", "found"), [(None, False), ("", False), ("0", False), ("1", True)])
def test_collecting_graphs_is_detected_by_its_variable(monkeypatch: pytest.MonkeyPatch, value: str | None, found: bool):
    monkeypatch.delenv("NEURON_EXTRACT_GRAPHS_ONLY", raising=False)
    if value is not None:
        monkeypatch.setenv("NEURON_EXTRACT_GRAPHS_ONLY", value)
    assert stack.only_compiling() is found


def test_an_undocumented_call_is_rejected():
    @documented("neuronx_distributed.parallel_layers.layers.ColumnParallelLinear")
    def linear(*args: Any, **kwargs: Any) -> str:
        return "made"

    assert linear(8, 16, bias=False, gather_output=False) == "made"
    with pytest.raises(TypeError, match="gather_outputs"):
        linear(8, 16, bias=False, gather_outputs=False)
    with pytest.raises(TypeError, match="output_size"):
        linear(8)
