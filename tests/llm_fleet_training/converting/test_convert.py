"""`convert`: checkpoints of every layout and degree have bit-identical weights in `transformers`."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_training.__main__ import main
from llm_fleet_training.checkpoints.checkpoints import Checkpoints
from llm_fleet_training.checkpoints.record import Record
from llm_fleet_training.model.config import from_words
from tests.llm_fleet_training.tiny_model import CONFIG, model_files, put, weights


@pytest.fixture
def folder(torch: object, tmp_path: Path) -> Path:
    """A run's folder with config and tokenizer, weights in another form, and no checkpoint."""
    small = {name: data for name, data in model_files().items() if "safetensors" not in name and "/" not in name}
    put(tmp_path / "run" / "weights", small)
    return tmp_path / "run"


def _checkpoint(
    folder: Path,
    held: dict[str, Any],
    *,
    step: int = 4,
    degree: int = 1,
    layout: str = "tensor-slices",
    config: dict[str, Any] = CONFIG,
) -> Path:
    """A checkpoint of a backend, made from whole weights."""
    sharding = import_module("llm_fleet_training.model.sharding")
    model = from_words(config)
    checkpoints = Checkpoints(folder / "checkpoints")
    part = checkpoints.begin(step)
    if layout == "tensor-slices":
        stream = import_module("llm_fleet_training.checkpoints.safetensors_stream")
        for rank in range(degree):
            with part.open(f"model-tp{rank:02}-of-{degree:02}.safetensors") as opened:
                stream.write(opened, {name: sharding.cut(name, one, model, degree, rank) for name, one in held.items()})
    else:
        dcp = import_module("torch.distributed.checkpoint")
        below = {f"model.{name}": one for name, one in held.items()}
        dcp.save(below, storage_writer=dcp.FileSystemWriter(part.folder / "distributed"), no_dist=True)
        for path in sorted((part.folder / "distributed").iterdir()):
            part.adopt(f"distributed/{path.name}")
    record = Record(
        step=step,
        backend="cpu",
        layout=layout,
        fingerprint=model.fingerprint,
        model=model.as_words(),
        degrees={"tensor": degree},
        world_size=degree,
        seed=1,
        tokens_seen=1,
    )
    return checkpoints.commit(part, record, part.files).folder


def _convert(folder: Path, *more: str) -> int:
    return main(["convert", "--run-folder", str(folder), *more])


def _loaded(folder: Path) -> Any:
    transformers: Any = import_module("transformers")
    return transformers.AutoModelForCausalLM.from_pretrained(str(folder / "huggingface"))


@pytest.mark.parametrize(
    ("layout", "degree"),
    [("tensor-slices", 1), ("tensor-slices", 2), ("tensor-slices", 4), ("distributed-checkpoint", 1)],
)
def test_every_layout_and_degree_gives_the_same_weights(folder: Path, layout: str, degree: int):
    torch: Any = import_module("torch")
    held = weights()
    _checkpoint(folder, held, degree=degree, layout=layout)  # degree 4: two ranks hold each key-value head
    assert _convert(folder, "--dtype", "float32") == 0
    model = _loaded(folder)
    found = model.state_dict()
    assert set(found) == set(held)
    assert all(torch.equal(found[name], held[name]) for name in held)
    said = json.loads((folder / "huggingface" / "convert.json").read_text())
    digest = import_module("llm_fleet_training.model.hashing").parameters_sha256(held, held.__getitem__)
    assert (said["step"], said["dtype"], said["parameters_sha256"]) == (4, "float32", digest)


def test_the_folder_is_what_transformers_writes(folder: Path):
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    held = weights()
    _checkpoint(folder, held)
    assert _convert(folder) == 0
    made = folder / "huggingface"
    assert {path.name for path in made.iterdir()} == {
        "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "LICENSE.txt",
        "model.safetensors", "convert.json",
    }  # fmt: skip
    model = _loaded(folder)
    assert model.dtype == torch.bfloat16
    assert torch.equal(model.state_dict()["lm_head.weight"], held["lm_head.weight"].to(torch.bfloat16))
    assert model.generation_config.max_length == 64
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(made))
    assert tokenizer.decode(tokenizer("the nodes")["input_ids"]) == "<s>the nodes"


def test_large_models_are_split_into_files_with_an_index(folder: Path, monkeypatch: pytest.MonkeyPatch):
    torch: Any = import_module("torch")
    shards = import_module("llm_fleet_training.weights.safetensors_file")
    monkeypatch.setitem(shards.write_shards.__kwdefaults__, "limit", 50_000)
    held = weights()
    _checkpoint(folder, held)
    assert _convert(folder, "--dtype", "float32") == 0
    names = sorted(path.name for path in (folder / "huggingface").glob("*.safetensors"))
    assert names[0] == f"model-00001-of-{len(names):05d}.safetensors"
    assert len(names) > 3
    assert all(path.stat().st_size < 60_000 for path in (folder / "huggingface").glob("*.safetensors"))
    index = json.loads((folder / "huggingface" / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == sum(one.numel() * 4 for one in held.values())
    found = _loaded(folder).state_dict()
    assert all(torch.equal(found[name], held[name]) for name in held)


def test_memory_does_not_grow_with_the_model(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """At most one whole weight is in memory; and a run that continues training does not prune the checkpoint."""
    import gc
    import weakref

    slices = import_module("llm_fleet_training.converting.slices")
    real, alive = slices.SlicesReader.weight, list[Any]()
    most = [0]

    def watched(self: Any, name: str) -> Any:
        whole = real(self, name).clone()
        alive.append(weakref.ref(whole))
        assert [path.name for path in (folder / "checkpoints").glob(".step_00000004.*.held")]
        most[0] = max(most[0], sum(each() is not None for each in alive))
        return whole

    monkeypatch.setattr(slices.SlicesReader, "weight", watched)
    _checkpoint(folder, weights(), degree=2)
    gc.disable()
    try:
        assert _convert(folder) == 0
    finally:
        gc.enable()
    assert most[0] <= 2  # one is read while the variable still holds the previous one


def test_tied_weights_are_written_once(folder: Path):
    config = {**CONFIG, "tie_word_embeddings": True}
    (folder / "weights" / "config.json").write_text(json.dumps(config))
    held = weights(config)
    assert "lm_head.weight" not in held
    _checkpoint(folder, held, config=config)
    assert _convert(folder, "--dtype", "float32") == 0
    torch: Any = import_module("torch")
    assert torch.equal(_loaded(folder).lm_head.weight, held["model.embed_tokens.weight"])


def test_rope_parameters_of_transformers_5_are_also_written_for_4(folder: Path):
    rope = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 32}  # fmt: skip
    config = {key: value for key, value in CONFIG.items() if key != "rope_theta"} | {"rope_parameters": rope}
    (folder / "weights" / "config.json").write_text(json.dumps({**config, "dtype": "float32"}))
    (folder / "weights" / "generation_config.json").unlink()
    _checkpoint(folder, weights(), config=config)
    assert _convert(folder) == 0
    made = json.loads((folder / "huggingface" / "config.json").read_text())
    assert made["rope_theta"] == 500000.0
    assert made["rope_scaling"]["rope_type"] == "llama3"
    assert (made["torch_dtype"], "dtype" in made) == ("bfloat16", False)
    assert json.loads((folder / "huggingface" / "generation_config.json").read_text())["eos_token_id"] == 1
    assert _loaded(folder).config.rope_parameters["factor"] == 8.0


def test_the_newest_complete_checkpoint_is_converted_and_later_ones_replace_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    _checkpoint(folder, weights(seed=1), step=2)
    _checkpoint(folder, weights(seed=2), step=4)
    (_checkpoint(folder, weights(seed=3), step=6) / "model-tp00-of-01.safetensors").write_bytes(b"cut off")
    assert _convert(folder) == 0
    assert "step_00000006 is skipped: " in capsys.readouterr().out
    assert _convert(folder) == 0
    assert "has step 4 already" in capsys.readouterr().out
    assert _convert(folder, "--step", "2") == 0
    assert json.loads((folder / "huggingface" / "convert.json").read_text())["step"] == 2
    assert sorted(path.name for path in folder.iterdir()) == [
        ".huggingface.lock",
        "checkpoints",
        "huggingface",
        "weights",
    ]
    assert not list((folder / "checkpoints").glob("*.held"))


def test_the_digest_is_compared_with_that_of_the_training(folder: Path, capsys: pytest.CaptureFixture[str]):
    _checkpoint(folder, weights())
    result = {"steps": 4, "parameters_sha256": "0" * 64, "fingerprint": from_words(CONFIG).fingerprint}
    (folder / "result.json").write_text(json.dumps(result))
    assert _convert(folder) == 3
    assert "result.json has 0000" in capsys.readouterr().err
    assert not (folder / "huggingface").exists()
    (folder / "result.json").write_text(json.dumps({**result, "steps": 5}))
    assert _convert(folder) == 0
    assert "result.json has no digest of step 4" in capsys.readouterr().out


def test_checkpoints_that_cannot_be_converted(folder: Path, capsys: pytest.CaptureFixture[str]):
    def refused(*more: str) -> str:
        assert _convert(folder, *more) == 3
        assert not (folder / "huggingface").exists()
        return capsys.readouterr().err

    assert "LFJ37: there is no complete checkpoint in " in refused()
    assert "LFJ37: " in refused("--step", "4")
    assert "LFJ01: --step 'x' is not a number" in refused("--step", "x")
    place = _checkpoint(folder, weights(), degree=2)
    good = json.loads((place / "checkpoint.json").read_text())
    _change(place, {**good, "layout": "stone"})
    assert "has the layout 'stone'; supported: tensor-slices and distributed-checkpoint" in refused()
    _change(place, {**good, "degrees": {"tensor": 4}})
    assert "has no model-tp00-of-04.safetensors, but its record has tensor parallel 4" in refused()
    _change(place, good)
    path = place / "model-tp01-of-02.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "model-tp01-of-02.safetensors is damaged: its SHA-256 differs from the record" in refused()
    (folder / "weights" / "config.json").write_text(json.dumps({**CONFIG, "num_hidden_layers": 3}))
    assert "belongs to another model than config.json: layers 2" in refused()


def test_missing_weights_and_other_shapes(folder: Path, capsys: pytest.CaptureFixture[str]):
    torch: Any = import_module("torch")
    held = weights()
    for layout in ("tensor-slices", "distributed-checkpoint"):
        _checkpoint(folder, {name: one for name, one in held.items() if name != "model.norm.weight"}, layout=layout)
        assert _convert(folder) == 3
        assert "has no model." in capsys.readouterr().err
        _checkpoint(folder, {**held, "model.norm.weight": torch.ones(5)}, layout=layout)
        assert _convert(folder) == 3
        assert "has shape (5,), expected" in capsys.readouterr().err


def test_a_tokenizer_is_part_of_a_model(folder: Path, capsys: pytest.CaptureFixture[str]):
    _checkpoint(folder, weights())
    (folder / "weights" / "tokenizer.json").unlink()
    assert _convert(folder) == 3
    assert "lacks files of a complete model: no tokenizer" in capsys.readouterr().err


def _change(place: Path, words: dict[str, Any]) -> None:
    (place / "checkpoint.json").write_text(json.dumps(words))
