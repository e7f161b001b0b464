"""The configuration file of SMP v2."""

import json
from typing import Any

import pytest

from llm_fleet.catalog.training_job import smp_aliases, smp_keys
from llm_fleet.jobs.render_run import render_smp
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.training.smp import check_smp
from llm_fleet.spec.jobs import TrainingData, TrainingRunSpec
from llm_fleet.spec.smp import SmpConfiguration

NOTHING = TrainingRunSpec(name="llama", model="me/llama", data=TrainingData(place="me/corpus"))
RUN = NOTHING.model_copy(update={"shard_degree": 16, "context_parallel": 2, "seed": 42})


def test_the_configuration_of_the_announcement_with_todays_keys() -> None:
    """The announcement's: tensor parallel 8, seed 0; hybrid sharding over 16; offloading with its horizon."""
    configuration = SmpConfiguration(
        hybrid_shard_degree=16,
        sm_activation_offloading=True,
        activation_loading_horizon=2,
        tensor_parallel_degree=8,
        tensor_parallel_seed=0,
    )
    assert render_smp(configuration, NOTHING) == (
        "{\n"
        '  "hybrid_shard_degree": 16,\n'
        '  "sm_activation_offloading": true,\n'
        '  "activation_loading_horizon": 2,\n'
        '  "tensor_parallel_degree": 8,\n'
        '  "random_seed": 0\n'
        "}\n"
    )


def test_omitted_keys_are_not_written() -> None:
    assert SmpConfiguration(backend="nccl").for_library == {}


def test_every_key_is_checked_and_written_in_the_order_of_the_reference() -> None:
    values: dict[str, Any] = {name: (True if key.type == "boolean" else 1) for name, key in smp_keys().items()}
    written = SmpConfiguration(**values).for_library
    assert list(written) == list(smp_keys())
    assert written == values


def test_every_key_of_the_library_can_be_set() -> None:
    assert SmpConfiguration.keys() == [*smp_keys(), *smp_aliases(), "backend"]


def test_all_errors_are_reported_together() -> None:
    problems = check_smp(SmpConfiguration(activation_loading_horizon=0, context_parallel_degree=4))
    assert [problem.code for problem in problems] == [Code.SMP_VALUE, Code.SMP_CONTEXT]


def test_values_of_the_job_are_added() -> None:
    configuration = SmpConfiguration(tensor_parallel_degree=4, sm_activation_offloading=True)
    assert json.loads(render_smp(configuration, RUN)) == {
        "hybrid_shard_degree": 16,
        "sm_activation_offloading": True,
        "tensor_parallel_degree": 4,
        "context_parallel_degree": 2,
        "random_seed": 42,
    }
    assert configuration.for_library == {"sm_activation_offloading": True, "tensor_parallel_degree": 4}


def test_the_old_key_of_the_seed_has_priority_over_the_seed_of_the_job() -> None:
    assert json.loads(render_smp(SmpConfiguration(tensor_parallel_seed=3), RUN))["random_seed"] == 3


def test_degrees_that_differ_are_rejected() -> None:
    with pytest.raises(FleetError, match="LF841"):
        render_smp(SmpConfiguration(hybrid_shard_degree=8), RUN)
