"""Whether a model fits an instance, with the numbers and the smallest sufficient size."""

import pytest

from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.fit import GIB, check_fit, core_memory, kv_heads_of_core, smallest_fit
from llm_fleet.spec.model_server import ModelServer, ServerKind
from llm_fleet.spec.model_shape import Model, ModelShape, known_shape
from tests.rules.inference.services import TOKEN, a_model, a_server, named, with_

TGI = a_server()


def test_the_model_of_the_talk_fits_its_instance():
    assert check_fit(TGI, named("tanuki-8b"), "inf2.xlarge") == []


def test_a_70b_model_on_inf2_xlarge_is_rejected_with_the_numbers_and_the_size_that_fits():
    (problem,) = check_fit(TGI, named("Llama-2-70b-hf"), "inf2.xlarge")
    assert (problem.code, problem.path, problem.value) == (Code.MODEL_MEMORY, ("instance_type",), "inf2.xlarge")
    # 68,976,648,192 weights of 2 bytes over 2 cores; 2 x 80 layers x 4 heads x 128 x 2 bytes x 4 x 4096.
    assert "64.2 GiB for weights and 2.5 GiB for the KV cache (batch 4, sequence 4096)" in problem.message
    assert "66.7 GiB in total, and has 13.6 GiB usable of 16.0 GiB" in problem.message
    assert "use inf2.48xlarge, the smallest that it fits, with tensor_parallel=24" in problem.remedy


def test_the_recommended_size_fits():
    for name in ("Llama-2-7b-hf", "Llama-2-13b-hf", "Llama-2-70b-hf", "Mixtral-8x7B-v0.1", "Qwen2.5-7B"):
        found = smallest_fit(TGI, named(name))
        assert found is not None
        instance, cores = found
        assert check_fit(with_(TGI, tensor_parallel=cores), named(name), instance) == []


@pytest.mark.parametrize(
    ("name", "smallest"),
    [
        ("Llama-3.2-1B", ("inf2.xlarge", 2)),
        ("tanuki-8b", ("inf2.xlarge", 2)),
        ("Llama-2-13b-hf", ("inf2.24xlarge", 12)),
        ("Llama-2-70b-hf", ("inf2.48xlarge", 24)),
    ],
)
def test_the_smallest_size_is_found(name: str, smallest: tuple[str, int]):
    assert smallest_fit(TGI, named(name)) == smallest


def test_a_batch_too_large_is_reported_with_the_largest_that_fits():
    model = named("Llama-2-7b-hf")
    for requested in (64, 8):
        (problem,) = check_fit(with_(TGI, batch_size=requested), model, "inf2.xlarge")
        assert problem.remedy.endswith("or write batch_size=7 for this instance type")
    assert check_fit(with_(TGI, batch_size=7), model, "inf2.xlarge") == []


def test_only_a_plain_checkpoint_requires_host_memory_for_its_weights():
    (problem,) = check_fit(TGI, named("tanuki-8b", compiled=False), "inf2.xlarge")
    assert problem.code is Code.MODEL_HOST_MEMORY
    assert "A task on inf2.xlarge has 14.4 GiB of its 16 GiB" in problem.message
    assert (
        "needs 18.0 GiB of host memory: 14.0 GiB for the whole checkpoint and 4 GiB for the server" in problem.message
    )
    assert "use trn1.2xlarge" in problem.remedy
    assert "(inf2.8xlarge with 2 of inf2)" in problem.remedy
    assert "export the model" in problem.remedy
    assert check_fit(TGI, named("tanuki-8b", compiled=False), "inf2.8xlarge") == []
    assert task_memory_mib(_instance("inf2.xlarge")) == 14704


def test_both_problems_are_reported_together():
    found = check_fit(TGI, named("Llama-2-70b-hf", compiled=False), "inf2.xlarge")
    assert [problem.code for problem in found] == [Code.MODEL_MEMORY, Code.MODEL_HOST_MEMORY]


def test_a_model_that_fits_no_instance_is_reported():
    huge = ModelShape(parameters=10**13, layers=100, attention_heads=64, kv_heads=8, head_dim=128)
    (problem,) = check_fit(TGI, a_model(shape=huge), "inf2.48xlarge")
    assert "fits no instance type of inf2, trn1" in problem.remedy
    assert smallest_fit(TGI, a_model(shape=huge)) is None


def test_sizes_are_those_of_the_servers_families():
    found = smallest_fit(a_server(ServerKind.AWS_VLLM_NEURON), named("tanuki-8b"))
    assert found is not None
    assert found[0].startswith("trn2.")


@pytest.mark.parametrize(
    ("server", "model", "instance"),
    [
        (TGI, a_model("s3://my-models/own", shape=None), "inf2.xlarge"),
        (TGI, named("Llama-2-70b-hf"), "m5.large"),
        (TGI, named("Llama-2-70b-hf"), TOKEN),
        (a_server(batch_size=0), named("Llama-2-70b-hf"), "inf2.xlarge"),
        (a_server(tensor_parallel=8), named("Llama-2-70b-hf"), "inf2.xlarge"),
    ],
    ids=["unknown size", "no Neuron device", "token", "batch of 0", "more cores than there are"],
)
def test_values_that_other_rules_reject_are_ignored(server: ModelServer, model: Model, instance: str):
    assert check_fit(server, model, instance) == []


@pytest.mark.parametrize(
    ("heads", "kv_heads", "cores", "on_each"),
    [
        (32, 8, 2, 4),
        (32, 8, 8, 1),
        (64, 8, 24, 1),  # 24 is a multiple of 8: a copy on each core
        (32, 8, 12, 3),  # it is not of 12: one for each of the 36 query heads
        (32, 32, 12, 3),
        (40, 40, 8, 5),
    ],
)
def test_heads_are_copied_if_they_cannot_be_divided(heads: int, kv_heads: int, cores: int, on_each: int):
    shape = ModelShape(parameters=1, layers=1, attention_heads=heads, kv_heads=kv_heads, head_dim=1)
    assert kv_heads_of_core(shape, cores) == on_each


def test_memory_of_a_core_is_computed():
    shape = known_shape("Llama-2-7b")
    assert shape is not None
    memory = core_memory(shape, _instance("inf2.xlarge"), cores=2, batch_size=1, sequence_length=4096)
    assert memory.weights == 6_738_415_616
    assert memory.cache == GIB  # 0.5 MiB a token, 4096 of them, over two cores
    assert memory.whole == 16 * GIB


def _instance(name: str):
    found = neuron_instance(name)
    assert found is not None
    return found
