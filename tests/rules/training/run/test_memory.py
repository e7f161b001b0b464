"""The memory estimate, compared with known runs and with its formulas."""

import pytest

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.ec2_instances import gpu_memory_mib
from llm_fleet.jobs.settings import TrainingRun
from llm_fleet.rules.training.run_plan import MemoryEstimate
from llm_fleet.rules.training.run_spread import breakdown, spread
from llm_fleet.spec.jobs import ActivationCheckpointing, Backend, Precision
from tests.rules.training.run.runs import LLAMA_2_7B, LLAMA_3_8B, LLAMA_3_70B, partition, problems, run
from tools.make_instances import ec2_types

GIB = 1024**3
PARAMETERS = 6_738_415_616


def memory(**changes: object) -> MemoryEstimate:
    found = run(**changes).memory
    assert found is not None
    return found


def test_the_runs_of_the_talk_and_of_the_post_fit():
    assert memory(tensor_parallel=8, nodes=1).fits
    assert memory(tensor_parallel=8, backend=Backend.NEMO_MEGATRON).fits


def test_the_70b_run_of_aws_on_16_nodes_fits():
    arguments = {"partition": partition(nodes=16), "model": LLAMA_3_70B, "backend": Backend.NEMO_MEGATRON}
    assert memory(**arguments, tensor_parallel=32, pipeline_parallel=8).fits


def test_7b_on_one_core_of_16_gib_does_not_fit():
    (problem,) = problems(tensor_parallel=1)
    assert problem.code == "LF868"
    for part in ("weights 12.6 GiB", "gradients 25.1 GiB", "has 13.6 GiB usable of 16.0 GiB"):
        assert part in problem.message


def test_memory_of_weights_and_optimizer_is_that_of_the_papers():
    found = memory(tensor_parallel=8)  # 16 ways data parallel: ZeRO-1 shards the 12 bytes of the optimizer over them
    assert found.weights == PARAMETERS * 2 / 8
    assert found.gradients == PARAMETERS * 4 / 8
    assert found.optimizer == PARAMETERS * 12 / 8 / 16


def test_fsdp_shards_everything_except_the_layers_in_use():
    found = memory(partition=partition("p5.48xlarge", 2), model=LLAMA_3_8B)
    assert found.optimizer == 8_030_261_248 * 12 / 16
    assert found.gradients == 8_030_261_248 * 4 / 16
    assert found.weights == 128_256 * 4096 * 2  # the embedding, larger than two layers
    half = memory(partition=partition("p5.48xlarge", 2), model=LLAMA_3_8B, shard_degree=8)
    assert half.optimizer == 2 * found.optimizer


def test_memory_of_activations_is_that_of_korthikanti_et_al():
    """Equations 2, 4 and 6 with a gated block: the post's training splits the sequence, our own backend does not."""
    tokens, hidden, inner, heads, layers, tensor = 4096, 4096, 11008, 32, 32, 8
    scores = 5 * heads * tokens * 4096 / tensor
    split = tokens * (18 * hidden + 8 * inner) / tensor
    full = memory(tensor_parallel=8, backend=Backend.NEMO_MEGATRON)
    assert full.activations == layers * 2 * tokens * hidden / tensor + split + scores
    layer = tokens * (18 * hidden + 8 * inner / tensor)
    full = memory(tensor_parallel=8)
    assert full.activations == layers * 2 * tokens * hidden + layer + scores
    few = {"tensor_parallel": 32, "activation_checkpointing": ActivationCheckpointing.SELECTIVE}
    layer_of_32, scores_of_32 = tokens * (18 * hidden + 8 * inner / 32), scores * tensor / 32
    assert memory(**few, nodes=1).activations == layers * layer_of_32 + scores_of_32
    (problem,) = problems(tensor_parallel=8, activation_checkpointing=ActivationCheckpointing.NONE)
    assert f"activations {layers * (layer + scores) / GIB:.1f} GiB" in problem.message


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"tensor_parallel": 16}, {"tensor_parallel": 8}),
        ({"micro_batch": 1}, {"micro_batch": 2}),
        ({"sequence_length": 2048}, {"sequence_length": 4096}),
        ({"nodes": 4}, {"nodes": 1}),
        ({}, {"precision": Precision.FLOAT32, "tensor_parallel": 8}),
        ({}, {"activation_checkpointing": ActivationCheckpointing.SELECTIVE, "sequence_length": 3072}),
    ],
)
def test_larger_values_require_more_memory(less: dict[str, object], more: dict[str, object]):
    common = {"tensor_parallel": 8, "model": LLAMA_2_7B}
    assert memory(**{**common, **less}).total < memory(**{**common, **more}).total


def test_context_parallel_divides_the_activations():
    arguments = {
        "partition": partition("p5.48xlarge", 2),
        "model": LLAMA_3_8B,
        "backend": Backend.SMP,
        "tensor_parallel": 1,
    }
    whole, half = memory(**arguments), memory(**arguments, context_parallel=2)
    assert half.activations == whole.activations / 2
    assert half.logits == whole.logits / 2


def test_the_breakdown_has_all_parts():
    good: TrainingRun = run(tensor_parallel=8)
    found = memory(tensor_parallel=8)
    assert breakdown(found) == (
        "weights 1.6 GiB, gradients 3.1 GiB, optimizer 0.6 GiB, activations 1.6 GiB, logits 0.1 GiB"
    )
    assert spread(good.plan) == "4 nodes x 32 processes, tensor parallel 8, data parallel 16"


def test_memory_of_gpus_is_that_of_ec2():
    of_families: dict[str, set[int]] = {}
    for name, answer in ec2_types().items():
        for gpu in answer.get("GpuInfo", {}).get("Gpus", []):
            of_families.setdefault(name.split(".")[0], set()).add(gpu["MemoryInfo"]["SizeInMiB"])
    for family in load("accelerator_memory")["gpu_mib"]:
        assert of_families[family] == {gpu_memory_mib(family)}
