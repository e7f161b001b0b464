"""What a service has besides its parts: name, log, grace period."""

import pytest

from llm_fleet.catalog.neuron import neuron_instance, neuron_instance_names
from llm_fleet.catalog.service import load_seconds, neuron_health_memory_mib, task_cpu_units, task_memory_mib
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.service import check_service, check_service_name
from tests.rules.inference.services import REGION, service


@pytest.mark.parametrize("name", ["chat", "a", "Fleet-chat", "x" * 63, "my-ecs", "${Token[TOKEN.1]}"])
def test_good_names(name: str):
    assert check_service_name(name) == []


@pytest.mark.parametrize("name", ["", "1chat", "-chat", "chat_1", "chat.example", "x" * 64, "ecs-chat", "AWSchat"])
def test_names_that_ecs_refuses(name: str):
    (problem,) = check_service_name(name)
    assert (problem.code, problem.path, problem.value) == (Code.SERVICE_NAME, ("name",), name)


def test_a_forbidden_beginning_is_told_by_itself():
    (problem,) = check_service_name("Fargate-chat")
    assert "'fargate'" in problem.message
    assert check_service_name(problem.remedy.split()[-1]) == []


def test_log_days():
    (problem,) = check_service(service(log_retention_days=31), region=REGION)
    assert (problem.code, problem.remedy) == (Code.SERVICE_LOG_DAYS, "write 30")


@pytest.mark.parametrize(("seconds", "good"), [(None, True), (1, True), (7200, True), (0, False), (2**31, False)])
def test_grace(seconds: int | None, good: bool):
    found = check_service(service(health_check_grace_seconds=seconds), region=REGION)
    assert [problem.code for problem in found] == ([] if good else [Code.SERVICE_GRACE])


@pytest.mark.parametrize("name", neuron_instance_names())
def test_a_task_leaves_room_for_its_host(name: str):
    instance = neuron_instance(name)
    assert instance is not None
    whole = instance.host_memory_gib * 1024
    # The guide's own example of what an agent registers has 97.5 percent; a task that asks for more is never placed.
    assert whole * 0.85 < task_memory_mib(instance)
    assert task_memory_mib(instance) + neuron_health_memory_mib() < whole * 0.975
    assert task_memory_mib(instance, managed=True) < task_memory_mib(instance)
    assert 0 < task_cpu_units(instance) < instance.vcpus * 1024


def test_what_is_not_compiled_loads_for_hours_and_what_is_larger_longer():
    small = load_seconds(weights_gib=15, source="s3", compiled=True)
    assert small % 60 == 0
    assert small < load_seconds(weights_gib=130, source="s3", compiled=True)
    assert load_seconds(weights_gib=15, source="hub", compiled=False) > small + 3600
