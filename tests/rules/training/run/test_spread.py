"""Rules of a run's parallelism: each mistake with its code and a remedy that works."""

import re
import time
from typing import Any

import pytest

from llm_fleet.spec.jobs import ActivationCheckpointing, Backend
from llm_fleet.spec.model_shape import TrainedShape
from llm_fleet.spec.smp import SmpConfiguration
from tests.rules.training.run.runs import LLAMA_3_8B, LLAMA_3_70B, partition, problems, run, values

P5, CPU = partition("ml.p5.48xlarge", 2), partition("ml.m5.4xlarge", 2)
NEMO = Backend.NEMO_MEGATRON
NONE = ActivationCheckpointing.NONE
SMALL: dict[str, Any] = {
    "parameters": 23_000_000,
    "layers": 6,
    "attention_heads": 6,
    "kv_heads": 6,
    "head_dim": 64,
    "hidden": 384,
    "intermediate": 1024,
    "vocabulary": 4096,
    "max_sequence": 256,
}

BAD: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "TP 3 on 32 cores": ({"tensor_parallel": 3}, [("LF856", "tensor_parallel")]),
    "TP over two nodes": ({"tensor_parallel": 64}, [("LF856", "tensor_parallel")]),
    "TP 4, which the ring of trn1 does not support": ({"tensor_parallel": 4}, [("LF856", "tensor_parallel")]),
    "TP 3 on 8 GPUs": ({"tensor_parallel": 3, "partition": P5, "backend": Backend.SMP}, [("LF856", "tensor_parallel")]),
    "TP 4 of 6 heads": (
        {
            "tensor_parallel": 4,
            "partition": partition("ml.m5.4xlarge", 4),
            "shape": TrainedShape(**SMALL),
            "model": "/fsx/x",
        },
        [("LF857", "tensor_parallel")],
    ),
    "5 stages of 32 layers": ({"pipeline_parallel": 5, "backend": NEMO}, [("LF857", "pipeline_parallel")]),
    "TP 32 x PP 8 on 3 nodes": (
        {"tensor_parallel": 32, "pipeline_parallel": 8, "backend": NEMO, "nodes": 3},
        [("LF858", "nodes")],
    ),
    "TP 8 x PP 8 on 3 nodes": (
        {"tensor_parallel": 8, "pipeline_parallel": 8, "backend": NEMO, "nodes": 3},
        [("LF858", "nodes")],
    ),
    "a batch that is not divisible": ({"global_batch": 250}, [("LF859", "global_batch")]),
    "a batch smaller than one step of all processes": ({"global_batch": 8}, [("LF859", "global_batch")]),
    "a sequence longer than the model's": ({"sequence_length": 5000}, [("LF860", "sequence_length")]),
    "a sequence that is not divisible by TP": (
        {"sequence_length": 4095, "backend": NEMO},
        [("LF860", "sequence_length")],
    ),
    "a sequence that is not divisible by CP": (
        {"sequence_length": 4095, "context_parallel": 2, "partition": P5, "backend": Backend.SMP},
        [("LF860", "sequence_length")],
    ),
    "a sequence that is not divisible by twice CP": (
        {"sequence_length": 4094, "context_parallel": 2, "partition": P5, "backend": Backend.SMP},
        [("LF860", "sequence_length")],
    ),
    "half of the checkpoints with smp": (
        {"activation_checkpointing": ActivationCheckpointing.SELECTIVE, "partition": P5, "backend": Backend.SMP},
        [("LF842", "activation_checkpointing")],
    ),
    "a shard degree that is not a divisor": ({"partition": P5, "shard_degree": 3}, [("LF862", "shard_degree")]),
    "context above shard": (
        {"partition": P5, "backend": Backend.SMP, "shard_degree": 4, "context_parallel": 8},
        [("LF834", "context_parallel")],
    ),
    "TP with fsdp": ({"partition": P5, "tensor_parallel": 2}, [("LF855", "tensor_parallel")]),
    "CP with neuron": ({"context_parallel": 2}, [("LF855", "context_parallel")]),
    "PP with neuron": ({"pipeline_parallel": 2}, [("LF855", "pipeline_parallel")]),
    "shards on CPUs": (
        {"partition": CPU, "shape": TrainedShape(**SMALL), "model": "/fsx/x", "shard_degree": 2},
        [("LF855", "shard_degree")],
    ),
    "7B on one core": ({"tensor_parallel": 1}, [("LF868", "tensor_parallel")]),
    "8B with all its activations": (
        {"partition": P5, "model": LLAMA_3_8B, "micro_batch": 32, "activation_checkpointing": NONE},
        [("LF868", "model")],
    ),
    "70B without a pipeline": (
        {"partition": partition(nodes=16), "model": LLAMA_3_70B, "backend": NEMO},
        [("LF868", "model")],
    ),
    "several together": (
        {"tensor_parallel": 3, "context_parallel": 2, "sequence_length": 9000, "global_batch": 7},
        [("LF855", "context_parallel"), ("LF856", "tensor_parallel"), ("LF860", "sequence_length")],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_each_mistake_is_reported_and_its_remedies_are_valid(name: str):
    arguments, expected = BAD[name]
    found = problems(**arguments)
    assert [(problem.code.value, problem.where) for problem in found] == expected
    changes = dict(each for problem in found for each in followed(problem.remedy))
    assert changes, [problem.remedy for problem in found]
    assert problems(**{**arguments, **changes}) == ()


def followed(remedy: str) -> list[tuple[str, Any]]:
    """Return the changes that `remedy` suggests."""
    numbers: list[tuple[str, Any]] = [(name, int(value)) for name, value in re.findall(r"(\w+)=(\d+)", remedy)]
    words = [(name, ActivationCheckpointing(word)) for name, word in re.findall(r"(\w+)='(\w+)'", remedy)]
    return [*numbers, *words, *((name, None) for name in re.findall(r"remove (\w+)", remedy))]


def test_possible_degrees_are_listed():
    (problem,) = problems(tensor_parallel=3)
    assert problem.allowed == "1, 2, 8, 16, 32"
    assert problem.message == "32 processes cannot be divided into groups of 3"


def test_all_values_that_a_degree_does_not_divide_are_listed():
    odd = {**SMALL, "attention_heads": 8, "kv_heads": 2, "head_dim": 48, "vocabulary": 4098, "intermediate": 1026}
    (problem,) = problems(
        partition=P5, model="/fsx/x", backend=Backend.SMP, shape=TrainedShape(**odd), tensor_parallel=4
    )
    assert problem.code == "LF857"
    assert "1026 feed-forward dimensions (intermediate) and 4098 vocabulary tokens" in problem.message
    assert "key-value heads" not in problem.message  # there are 2, each copied once


def test_a_run_with_too_many_nodes_is_also_checked_with_the_existing_nodes():
    codes = [problem.code.value for problem in problems(partition=P5, model=LLAMA_3_70B, nodes=8)]
    assert codes == ["LF852", "LF868"]


def test_the_nearest_batch_sizes_are_suggested():
    (problem,) = problems(tensor_parallel=8, global_batch=250)
    assert "240 or 256" in problem.allowed
    assert "micro batch 1 x data parallel 16 (128 processes / 8)" in problem.message


def test_a_partition_that_is_too_small_is_reported_with_the_required_size():
    (problem,) = problems(partition=P5, model=LLAMA_3_70B)
    assert problem.code == "LF868"
    assert problem.remedy == "give the partition 4 nodes"
    assert problems(partition=partition("ml.p5.48xlarge", 4), model=LLAMA_3_70B) == ()


def test_degrees_of_smp_are_used_for_the_run():
    smp = SmpConfiguration(tensor_parallel_degree=2, hybrid_shard_degree=4)
    plan = run(partition=P5, model=LLAMA_3_8B, backend=Backend.SMP, smp=smp).plan
    assert (plan.tensor_parallel, plan.shard_degree, plan.data_parallel) == (2, 4, 8)
    (problem,) = problems(smp=smp)
    assert (problem.code, problem.where) == ("LF872", "smp")
    (problem,) = problems(partition=partition("ml.g4dn.12xlarge", 2), model="/fsx/x", shape=TrainedShape(**SMALL),
                          backend=Backend.SMP)  # fmt: skip
    assert (problem.code, problem.where) == ("LF837", "backend")


def test_defaults_are_derived_from_the_partition():
    plan = run().plan
    assert (plan.backend, plan.nodes, plan.world, plan.tensor_parallel, plan.data_parallel) == ("neuron", 4, 128, 8, 16)
    assert (plan.global_batch, plan.sequence_length, plan.accumulation) == (256, 4096, 16)
    assert plan.folder == "/fsx/runs/llama"
    gpu = run(partition=P5, model=LLAMA_3_8B).plan
    assert (gpu.backend, gpu.world, gpu.shard_degree, gpu.activation_checkpointing) == ("fsdp", 16, 16, "full")
    cpu = run(partition=CPU, model="/fsx/x", shape=TrainedShape(**SMALL)).plan
    assert (cpu.backend, cpu.world, cpu.precision, cpu.sequence_length) == ("cpu", 2, "float32", 256)
    assert run(micro_batch=3).plan.global_batch == 240
    assert run(micro_batch=6, sequence_length=512).plan.global_batch == 288, "the nearest, not the next below"


def test_processes_of_the_runtime_divide_the_memory():
    half = run(partition=partition("trn2.48xlarge", 1, processes=128)).plan
    assert half.world == 128
    assert half.accelerator.bytes == 12 * 1024**3


def test_a_mistake_in_addition_to_the_memory_has_its_remedy():
    (problem,) = problems(partition=partition("g5.xlarge"), model=LLAMA_3_70B, context_parallel=4)
    assert problem.code == "LF855"
    assert problem.remedy.startswith(
        "remove context_parallel; after that, the model still does not fit the memory of its nodes: use "
    )
    assert "pipeline" not in problem.remedy  # no backend for GPUs supports it
    (problem,) = problems(partition=partition("g5.xlarge"), model=LLAMA_3_70B)
    assert problem.remedy == "use an instance type with more memory, a shorter sequence or a smaller model"
    (problem,) = problems(partition=partition(), model=LLAMA_3_70B)
    assert "a backend with pipeline parallel" in problem.remedy
    (problem,) = problems(partition=P5, model=LLAMA_3_70B, tensor_parallel=2)
    assert (
        problem.remedy
        == "give the partition 4 nodes, and remove tensor_parallel: on fewer nodes the model does not fit their memory"
    )


def test_a_wrong_degree_of_smp_is_reported_at_smp():
    smp = SmpConfiguration(tensor_parallel_degree=3)
    (problem,) = problems(partition=P5, model=LLAMA_3_8B, backend=Backend.SMP, smp=smp)
    assert (problem.code, problem.where) == ("LF856", "smp.tensor_parallel_degree")
    assert problem.remedy == "write tensor_parallel_degree=2"


def test_processes_that_a_degree_does_not_divide_are_reported_at_that_degree():
    (problem,) = problems(partition=P5, model=LLAMA_3_8B, backend=Backend.SMP, context_parallel=3)
    assert (problem.code, problem.where, problem.value) == ("LF858", "context_parallel", 3)
    (problem,) = problems(partition=CPU, model="/fsx/x", shape=TrainedShape(**SMALL), tensor_parallel=8)
    assert problem.message == "tensor parallel 8 is more than the 2 processes in total"


def test_a_search_is_quick():
    start = time.perf_counter()
    problems(partition=partition(nodes=64), model=LLAMA_3_70B, backend=NEMO, micro_batch=8, global_batch=1000)
    assert time.perf_counter() - start < 5
    assert values()
