"""The smp backend with stand-ins that reject undocumented calls; its configuration and collectives."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from llm_fleet_training.backends.smp import make
from llm_fleet_training.backends.smp.collectives import VARIABLE, collectives
from llm_fleet_training.backends.smp.configuration import OF_RUN, OWN, configuration
from llm_fleet_training.failures import Code, Failure
from llm_fleet_training.model.config import read
from llm_fleet_training.settings import Settings
from tests.llm_fleet_training.documented import CALLS

SAMPLES = [[(7 * n + start) % 256 for n in range(17)] for start in (1, 5)]


def settings_of(folder: Path, **changes: Any) -> Settings:
    basic: dict[str, Any] = {
        "run_folder": folder, "model": folder, "backend": "smp", "sequence_length": 16, "global_batch": 2, "steps": 3,
        "precision": "float32", "learning_rate": 0.01,
    }  # fmt: skip
    return Settings(**{**basic, **changes})


def configured(folder: Path, words: Any, **changes: Any) -> dict[str, Any]:
    file = folder / "smp_config.json"
    file.write_text(words if isinstance(words, str) else json.dumps(words))
    return configuration(settings_of(folder, smp_config=file, **changes))


def test_the_library_has_the_keys_of_the_catalog():
    facts = json.loads((Path(__file__).parents[3] / "constructs/llm_fleet/catalog/data/smp_v2.json").read_text())
    assert {*OF_RUN, *OWN} == set(facts["facts"]["keys"])


def test_degrees_are_those_of_the_run(tmp_path: Path):
    expected = {
        "hybrid_shard_degree": 8, "tensor_parallel_degree": 4, "context_parallel_degree": 2, "random_seed": 5,
    }  # fmt: skip
    degrees: dict[str, Any] = {"shard_degree": 8, "tensor_parallel": 4, "context_parallel": 2, "seed": 5}
    assert configuration(settings_of(tmp_path, **degrees)) == expected
    reported = {**expected, "activation_loading_horizon": 4}
    assert configured(tmp_path, reported, **degrees) == reported
    assert configured(tmp_path, {"hybrid_shard_degree": 0}, **degrees) == expected


def test_the_librarys_seed_can_differ_from_the_runs(tmp_path: Path):
    assert configured(tmp_path, {}, seed=5)["random_seed"] == 5
    assert configured(tmp_path, {"random_seed": 0}, seed=5)["random_seed"] == 0
    reported = configured(tmp_path, {"tensor_parallel_seed": 0}, seed=5)
    assert reported["random_seed"] == 0
    assert "tensor_parallel_seed" not in reported


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ("{", "cannot be read"),
        ([1], "is not a JSON object"),
        ({"tensor_parallel_degree": 8}, "tensor_parallel_degree is 8, but the run's tensor_parallel is 1"),
        ({"tensor_parallel_seed": "8"}, "random_seed is '8', which is not a number"),
        ({"partitions": 2}, "partitions is not a key of SMP v2"),
        ({"allow_empty_shards": 1}, "which is not true or false"),
        ({"activation_loading_horizon": True}, "which is not a number"),
        ({"activation_loading_horizon": 0}, "must be 1 or more"),
        ({"expert_parallel_degree": 2}, "have no experts"),
        ({"sm_activation_offloading": True}, "but has no effect"),
        ({"partitions": 2, "random_seed": 1.5}, "partitions is not a key of SMP v2; random_seed is 1.5"),
    ],
)
def test_an_invalid_configuration_is_reported(tmp_path: Path, words: Any, reported: str):
    with pytest.raises(Failure) as failure:
        configured(tmp_path, words)
    assert failure.value.code is Code.SMP_CONFIG
    assert reported in failure.value.cause
    assert failure.value.final


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"pipeline_parallel": 2}, Code.DEGREES),
        ({"context_parallel": 2}, Code.DEGREES),
        ({"context_parallel": 4, "shard_degree": 6}, Code.DEGREES),
        ({"context_parallel": 3, "shard_degree": 3}, Code.SEQUENCE_LENGTH),
        ({"activation_checkpointing": "selective"}, Code.BACKEND),
    ],
)
def test_unsupported_settings_are_rejected(model_folder: Path, changes: dict[str, Any], code: Code):
    with pytest.raises(Failure) as failure:
        make(settings_of(model_folder, **changes), read(model_folder))
    assert failure.value.code is code


def test_smddp_is_used_if_it_can_be_imported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert collectives() == "nccl"
    monkeypatch.setenv(VARIABLE, "smddp")
    with pytest.raises(Failure, match="smddp does not run on") as failure:
        collectives()
    assert failure.value.code is Code.SMP_BACKEND
    assert "nccl" in failure.value.code.remedy
    for name in ("smdistributed", "smdistributed.dataparallel", "smdistributed.dataparallel.torch"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    last = "smdistributed.dataparallel.torch.torch_smddp"
    monkeypatch.setitem(sys.modules, last, ModuleType(last))
    assert collectives() == "smddp"
    monkeypatch.setenv(VARIABLE, "auto")
    assert collectives() == "smddp"
    monkeypatch.setenv(VARIABLE, "nccl")
    assert collectives() == "nccl"
    monkeypatch.setenv(VARIABLE, "gloo")
    with pytest.raises(Failure, match="is `gloo`"):
        collectives()


@pytest.fixture
def stand_ins(torch: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`torch.sagemaker` and FSDP, for one process."""
    module: Any = import_module("tests.llm_fleet_training.stand_ins.smp")
    module.install(monkeypatch)
    for place in ("backend", "checkpoint"):
        monkeypatch.setattr(import_module(f"llm_fleet_training.backends.smp.{place}"), "FSDP", module.Fsdp)
    processes: Any = import_module("llm_fleet_training.backends.processes")
    processes.join("gloo")
    CALLS.clear()
    yield module
    torch.distributed.destroy_process_group()


def started(settings: Settings, stand_ins: Any) -> Any:
    """The state after `start`, which requires a GPU."""
    torch: Any = import_module("torch")
    words: Any = import_module("llm_fleet_training.backends.words")
    backend: Any = make(settings, read(settings.model))
    backend.device = torch.device("cpu")
    backend.state = stand_ins.STATE
    backend._words = words.Words(0, 1)
    return backend


def trained(backend: Any, steps: int = 2) -> float:
    norm = 0.0
    for _ in range(steps):
        losses = [backend.forward_backward(SAMPLES, 1.0)]
        norm = backend.reduce_and_clip(1.0)
        backend.step(0.01)
        assert 4 < backend.mean_loss(losses) < 6
    return norm


def call(name: str) -> dict[str, Any]:
    (found,) = [arguments for called, arguments in CALLS if called == name]
    return found


@pytest.mark.parametrize("tensor", [1, 2])
def test_a_model_is_built_trained_saved_loaded_and_converted(
    model_folder: Path, tmp_path: Path, stand_ins: Any, tensor: int
):
    """Degree 2 in one process, to run the code for transformed models; the stand-in transforms nothing."""
    settings = settings_of(model_folder, tensor_parallel=tensor, activation_checkpointing="full")
    backend = started(settings, stand_ins)
    layer = stand_ins.TransformerLayer if tensor > 1 else None
    backend.build()
    wrapped = call("torch.distributed.fsdp.FullyShardedDataParallel")
    assert wrapped["sync_module_states"] is True
    assert wrapped["sharding_strategy"] is wrapped["param_init_fn"] is None
    policy = wrapped["auto_wrap_policy"].keywords["transformer_layer_cls"]
    assert layer is None or policy == {layer}
    if tensor > 1:
        assert call("torch.sagemaker.transform")["load_state_dict_from_rank0"] is True
    decays = [len(group["params"]) for group in backend.optimizer.param_groups]
    assert decays == [16, 5]
    assert trained(backend) > 0
    if tensor == 1:
        return  # FSDP itself makes the saved shards, for which it needs GPUs.
    digest = backend.parameters_sha256()
    part_of: Any = import_module("llm_fleet_training.checkpoints.part")
    folder = tmp_path / "part"
    folder.mkdir()
    part = part_of.Part(folder, 2)
    backend.save(part)
    assert {name for name in part.files if name.startswith("smp/")} == {"smp/tp00/__0_0.distcp", "smp/tp00/.metadata"}
    assert "distributed/.metadata" in part.files
    assert _converted_sha256(folder, part, backend) == digest
    trained(backend, 1)
    expected = backend.parameters_sha256()
    other = started(settings, stand_ins)
    other.build()
    assert other.parameters_sha256() != digest
    other.load(folder)
    assert other.parameters_sha256() == digest
    trained(other, 1)
    assert other.parameters_sha256() == expected


def _converted_sha256(folder: Path, part: Any, backend: Any) -> str:
    """The digest of the weights that the reader of `convert` returns."""
    reader: Any = import_module("llm_fleet_training.converting.distributed")
    hashing: Any = import_module("llm_fleet_training.model.hashing")
    sharding: Any = import_module("llm_fleet_training.model.sharding")
    found: Any = type("Found", (), {"folder": folder, "record": type("Record", (), {"files": part.files})})
    opened = reader.make(found, backend.config)
    assert all(name.startswith("distributed/") for name in opened.files())
    return hashing.parameters_sha256(sharding.shapes(backend.config), opened.weight)


def test_other_processes_have_no_memory_for_weights_at_first(model_folder: Path, stand_ins: Any):
    backend = started(settings_of(model_folder, shard_degree=4), stand_ins)
    backend.rank = 1
    backend.build()
    wrapped = call("torch.distributed.fsdp.FullyShardedDataParallel")
    assert wrapped["param_init_fn"] == "initializes"
    assert wrapped["sharding_strategy"].name == "HYBRID_SHARD"


def test_activations_are_offloaded_if_configured(model_folder: Path, tmp_path: Path, stand_ins: Any):
    file = tmp_path / "smp_config.json"
    file.write_text('{"sm_activation_offloading": true}')
    backend = started(settings_of(model_folder, activation_checkpointing="full", smp_config=file), stand_ins)
    backend.build()
    assert type(backend.model).__name__ == "OffloadWrapper"
    assert any(type(module).__name__ == "CheckpointWrapper" for module in backend.fsdp.modules())


def test_context_ranks_get_a_part_of_the_front_and_one_of_the_back(torch: Any):
    backend: Any = import_module("llm_fleet_training.backends.smp.backend")
    ids = torch.arange(16).reshape(2, 8)
    assert backend.own_part(ids, 0, 2).tolist() == [[0, 1, 6, 7], [8, 9, 14, 15]]
    assert backend.own_part(ids, 1, 2).tolist() == [[2, 3, 4, 5], [10, 11, 12, 13]]


def test_without_the_library_or_a_gpu_it_does_not_start(
    model_folder: Path, torch: Any, monkeypatch: pytest.MonkeyPatch
):
    backend = make(settings_of(model_folder), read(model_folder))
    with pytest.raises(Failure, match=r"no torch\.sagemaker") as failure:
        backend.start()
    assert failure.value.code is Code.SMP_STACK
    module: Any = import_module("tests.llm_fleet_training.stand_ins.smp")
    module.install(monkeypatch)
    with pytest.raises(Failure, match="this process finds none on ") as failure:
        backend.start()
    assert failure.value.code is Code.BACKEND
