"""Rules of the configuration of SMP v2."""

from typing import Any

import pytest

from llm_fleet.catalog.training_job import smp_keys
from llm_fleet.rules.codes import Code
from llm_fleet.rules.training.smp import check_smp, smp_remarks
from llm_fleet.rules.training.smp_run import check_smp_in_run
from llm_fleet.spec.jobs import TrainingData, TrainingRunSpec
from llm_fleet.spec.smp import SmpConfiguration

REFERENCE = {
    "hybrid_shard_degree": 16,
    "sm_activation_offloading": True,
    "activation_loading_horizon": 2,
    "fsdp_cache_flush_warnings": False,
    "allow_empty_shards": True,
    "tensor_parallel_degree": 4,
    "context_parallel_degree": 2,
    "random_seed": 0,
}


def smp(**values: Any) -> SmpConfiguration:
    """A configuration, which can be invalid."""
    return SmpConfiguration.model_construct(**values)


def job(**values: int) -> TrainingRunSpec:
    return TrainingRunSpec(name="llama", model="me/llama", data=TrainingData(place="me/corpus"), **values)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "values",
    [
        {},
        REFERENCE,
        {"hybrid_shard_degree": 0, "tensor_parallel_degree": 8},
        {"hybrid_shard_degree": 1},
        {"hybrid_shard_degree": 8, "expert_parallel_degree": 8},
        {"random_seed": -1},
        {"tensor_parallel_seed": 0},
        {"hybrid_shard_degree": 64},
    ],
)
def test_compatible_values_have_no_problems(values: dict[str, Any]) -> None:
    assert check_smp(smp(**values), world_size=64, activation_checkpointing=True) == []


@pytest.mark.parametrize("name", [name for name, key in smp_keys().items() if key.type == "integer"])
@pytest.mark.parametrize("value", ["8", 1.0, True])
def test_a_number_must_be_an_integer(name: str, value: Any) -> None:
    (problem,) = check_smp(smp(**{name: value}))
    assert (problem.code, problem.path, problem.value) == (Code.SMP_VALUE, (name,), value)


@pytest.mark.parametrize("name", [name for name, key in smp_keys().items() if key.type == "boolean"])
@pytest.mark.parametrize("value", [1, "true", 0])
def test_a_boolean_must_be_true_or_false(name: str, value: Any) -> None:
    (problem,) = check_smp(smp(**{name: value}))
    assert (problem.code, problem.path, problem.allowed) == (Code.SMP_VALUE, (name,), "true, false")
    assert str(smp_keys()[name].default).lower() in problem.remedy


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("hybrid_shard_degree", -1, "0 to 64"),
        ("hybrid_shard_degree", 128, "0 to 64"),
        ("tensor_parallel_degree", 0, "1 to 64"),
        ("tensor_parallel_degree", 65, "1 to 64"),
        ("context_parallel_degree", 0, "1 to 64"),
        ("expert_parallel_degree", 128, "1 to 64"),
        ("activation_loading_horizon", 0, "1 or more"),
    ],
)
def test_ranges_are_those_of_the_reference(name: str, value: int, allowed: str) -> None:
    (problem,) = check_smp(smp(**{name: value}), world_size=64)
    assert (problem.code, problem.path, problem.allowed) == (Code.SMP_VALUE, (name,), allowed)


def test_without_a_number_of_processes_a_degree_has_no_maximum() -> None:
    assert check_smp(smp(tensor_parallel_degree=4096)) == []


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({"tensor_parallel_degree": 3}, "write 1, or use nodes with a multiple of 3 processes"),
        ({"hybrid_shard_degree": 12}, "write 4, or use nodes with a multiple of 12 processes"),
        (
            {"hybrid_shard_degree": 16, "tensor_parallel_degree": 4},
            "write hybrid_shard_degree: 8, or use nodes with a multiple of 64 processes",
        ),
        (
            {"hybrid_shard_degree": 8, "expert_parallel_degree": 8},
            "write hybrid_shard_degree: 4, or use nodes with a multiple of 64 processes",
        ),
    ],
)
def test_degrees_must_divide_the_processes(values: dict[str, int], remedy: str) -> None:
    (problem,) = check_smp(smp(**values), world_size=32)
    assert (problem.code, problem.remedy) == (Code.SMP_WORLD_SIZE, remedy)


@pytest.mark.parametrize(
    ("values", "reported"),
    [
        ({"hybrid_shard_degree": 4, "context_parallel_degree": 8}, "must be at most `hybrid_shard_degree`, which is 4"),
        ({"context_parallel_degree": 2}, "must be at most `hybrid_shard_degree`, which is 0"),
        ({"hybrid_shard_degree": 16, "context_parallel_degree": 3}, "must divide `hybrid_shard_degree`"),
    ],
)
def test_context_parallel_must_fit_the_shard_degree(values: dict[str, int], reported: str) -> None:
    (problem,) = check_smp(smp(**values), world_size=48)
    assert (problem.code, problem.path) == (Code.SMP_CONTEXT, ("context_parallel_degree",))
    assert reported in problem.message


@pytest.mark.parametrize(
    ("values", "experts", "reported"),
    [
        ({"tensor_parallel_degree": 2}, None, "does not support expert and tensor parallelism together"),
        ({}, 0, "the model has no experts"),
        ({}, 6, "6 experts cannot be divided evenly by 4"),
    ],
)
def test_expert_parallel_requires_experts(values: dict[str, int], experts: int | None, reported: str) -> None:
    (problem,) = check_smp(smp(expert_parallel_degree=4, **values), experts=experts)
    assert (problem.code, problem.path) == (Code.SMP_EXPERTS, ("expert_parallel_degree",))
    assert reported in problem.message


def test_offloading_requires_activation_checkpointing() -> None:
    (problem,) = check_smp(smp(sm_activation_offloading=True), activation_checkpointing=False)
    assert problem.code is Code.SMP_OFFLOADING
    assert check_smp(smp(), activation_checkpointing=False) == []
    assert check_smp(smp(sm_activation_offloading=True)) == []


def test_two_seeds_are_reported() -> None:
    (problem,) = check_smp(smp(random_seed=1, tensor_parallel_seed=1))
    assert problem.code is Code.SMP_SEED_TWICE
    (problem,) = check_smp(smp(tensor_parallel_seed="1"))
    assert (problem.code, problem.path) == (Code.SMP_VALUE, ("tensor_parallel_seed",))


def test_all_mistakes_are_reported_together() -> None:
    found = check_smp(
        smp(
            hybrid_shard_degree=4,
            context_parallel_degree=8,
            activation_loading_horizon=0,
            allow_empty_shards="no",
            tensor_parallel_seed=1,
            random_seed=2,
        ),
        world_size=16,
    )
    assert {problem.code for problem in found} == {Code.SMP_CONTEXT, Code.SMP_VALUE, Code.SMP_SEED_TWICE}
    assert len(found) == 4


def test_tokens_pass() -> None:
    token = -1.8881545897087e289
    values = {name: token for name, key in smp_keys().items() if key.type == "integer"}
    assert check_smp(smp(**values, backend="${Token[b.1]}"), world_size=7) == []


def test_settings_that_require_a_transformed_model_have_a_remark() -> None:
    tensor, old_seed = smp_remarks(smp(tensor_parallel_degree=2, context_parallel_degree=1, tensor_parallel_seed=0))
    assert "tensor_parallel_degree above 1 only has an effect" in tensor
    assert "torch.sagemaker.transform" in tensor
    assert "llm-fleet writes random_seed" in old_seed
    assert smp_remarks(smp(**{**REFERENCE, "tensor_parallel_degree": 1, "context_parallel_degree": 1})) == []


def test_a_value_of_the_job_is_reported_at_the_job() -> None:
    run = job(shard_degree=4, context_parallel=8, tensor_parallel=3, seed=7)
    found = check_smp_in_run(smp(), run, world_size=16)
    assert {problem.path for problem in found} == {("context_parallel",), ("tensor_parallel",)}
    assert {problem.path for problem in check_smp_in_run(None, run, world_size=16)} == {
        ("context_parallel",),
        ("tensor_parallel",),
    }


def test_different_values_in_job_and_configuration_are_reported() -> None:
    run = job(tensor_parallel=8, seed=7)
    found = check_smp_in_run(smp(tensor_parallel_degree=4, random_seed=7), run, world_size=16)
    assert [(problem.code, problem.path) for problem in found] == [(Code.SMP_TWICE, ("smp", "tensor_parallel_degree"))]


def test_the_seed_of_the_configuration_can_differ_from_that_of_the_job() -> None:
    assert check_smp_in_run(smp(tensor_parallel_seed=3), job(seed=7), world_size=16) == []
    assert check_smp_in_run(smp(random_seed=3), job(seed=7), world_size=16) == []
