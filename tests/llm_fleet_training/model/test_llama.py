"""The model is Hugging Face's: the same weights give the same logits, losses and gradients, sliced or not."""

# pyright: basic, reportMissingImports=false
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.llm_fleet_training.runs import TINY, Run, write_model

LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip
VARIANTS: dict[str, dict[str, Any]] = {
    "llama": {},
    "llama 3.1": {"rope_parameters": LLAMA3},
    "linear": {"rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}},
    "tied, each head its own keys": {"tie_word_embeddings": True, "num_key_value_heads": 4},
}


@pytest.fixture(scope="module")
def theirs() -> Any:
    """The class of transformers; importing it takes seconds."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    pytest.importorskip("torch")
    return pytest.importorskip("transformers")


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_and_gradients_are_those_of_transformers(tmp_path: Path, torch: Any, theirs: Any, variant: str):
    from llm_fleet_training.model import config, layers, llama, sharding

    words = {**TINY, **VARIANTS[variant]}
    torch.manual_seed(3)
    other = theirs.LlamaForCausalLM(theirs.LlamaConfig(**words))
    other.save_pretrained(tmp_path)
    ours = config.read(tmp_path)
    assert ours.fingerprint == config.from_words(json.loads(json.dumps(words))).fingerprint, (
        "old keys or new, one model"
    )
    model = llama.Llama(ours, layers.WholeLayers())
    weights = {name: tensor for name, tensor in other.state_dict().items() if name in sharding.shapes(ours)}
    assert {name: tuple(tensor.shape) for name, tensor in weights.items()} == sharding.shapes(ours)
    assert sum(one.numel() for one in model.parameters()) == ours.parameters
    model.load_state_dict(weights, strict=not ours.tied)
    ids = torch.randint(0, 256, (2, 49))
    with torch.no_grad():
        expected = other(input_ids=ids[:, :-1]).logits
        assert torch.allclose(model(ids[:, :-1]), expected, atol=1e-5, rtol=0)
    loss = model(ids[:, :-1], ids[:, 1:])
    loss.backward()
    other_loss = torch.nn.functional.cross_entropy(
        other(input_ids=ids[:, :-1]).logits.flatten(0, 1), ids[:, 1:].flatten()
    )
    other_loss.backward()
    assert loss.item() == pytest.approx(other_loss.item(), abs=1e-6)
    gradients = dict(other.named_parameters())
    for name, parameter in model.named_parameters():
        assert torch.allclose(parameter.grad, gradients[name].grad, atol=1e-6), name


def test_training_from_weights_begins_with_them_at_any_degree(run: Run, torch: Any):
    """Two key-value heads over four ranks: consecutive ranks hold the same one."""
    from safetensors.torch import save_file

    from llm_fleet_training.model import config, initial, sharding

    ours = config.read(run.folder / "model")
    weights = {name: initial.initial(name, ours, 7) for name in sharding.shapes(ours)}
    names = sorted(weights)
    folder = write_model(run.folder / "weights")
    save_file({name: weights[name] for name in names[:5]}, folder / "model-1.safetensors")
    save_file({name: weights[name] for name in names[5:]}, folder / "model-2.safetensors")
    index = {"weight_map": {name: f"model-{1 if name in names[:5] else 2}.safetensors" for name in names}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    losses: dict[str, list[float]] = {}
    for kind, processes, changes in [
        ("one", 1, {}),
        ("tensor 4", 4, {"tensor_parallel": 4}),
        ("fsdp 2", 2, {"backend": "fsdp"}),
        ("hybrid fsdp 2 x 1", 2, {"backend": "fsdp", "shard_degree": 1}),
    ]:
        options = {"from_weights": folder, "steps": 3, "checkpoint_every": 9, "run_folder": run.folder / kind}
        (run.folder / kind).mkdir()
        (run.folder / kind / "tokens").symlink_to(run.folder / "tokens")
        ended = run.train(processes=processes, **options, **changes)
        assert ended.codes == [0] * processes, ended.said
        rows = (run.folder / kind / "metrics.jsonl").read_text().splitlines()
        losses[kind] = [json.loads(row)["loss"] for row in rows]
    for kind, found in losses.items():
        assert found == pytest.approx(losses["one"], rel=2e-6), kind
    seeded = run.train(steps=1)
    assert seeded.codes == [0]
    assert run.rows[0]["loss"] != losses["one"][0]


def test_weights_of_another_model_are_rejected(run: Run, torch: Any):
    from safetensors.torch import save_file

    folder = write_model(run.folder / "weights")
    save_file({"lm_head.weight": torch.zeros(256, 32)}, folder / "model.safetensors")
    ended = run.train(from_weights=folder)
    assert ended.codes == [3]
    assert "LFJ16" in ended.said
    assert "have no model.embed_tokens.weight and 19 more" in ended.said


def test_adamw_is_bit_identical_to_torchs(torch: Any):
    from llm_fleet_training.backends.cpu.adamw import AdamW
    from llm_fleet_training.model.groups import decay_groups
    from llm_fleet_training.settings import Settings

    settings = Settings(Path("r"), Path("m"), "cpu", 16, 4, 3, learning_rate=0.01)
    names = ("model.layers.0.mlp.up_proj.weight", "model.norm.weight")
    drawn = {name: torch.randn(8) for name in names}
    mine, others = ({name: torch.nn.Parameter(one.clone()) for name, one in drawn.items()} for _ in range(2))
    own = AdamW(mine, settings)
    betas = (settings.beta1, settings.beta2)
    their = torch.optim.AdamW(decay_groups(others, settings.weight_decay), betas=betas, eps=1e-8, foreach=False)
    for rate in (0.01, 0.005, 0.001):
        for name in names:
            gradient = torch.randn(8)
            mine[name].grad, others[name].grad = gradient.clone(), gradient.clone()
        for group in their.param_groups:
            group["lr"] = rate
        own.step(rate)
        their.step()
    assert all(torch.equal(mine[name], others[name]) for name in names)
