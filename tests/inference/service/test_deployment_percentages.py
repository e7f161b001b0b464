"""An update never waits for an accelerator more than there are, and stops no more than it must."""

import math

import pytest

from llm_fleet.inference.service import least_healthy_percent


def going_on(running: int, *, least: int) -> int:
    """How many of `running` tasks ECS lets go on, which it rounds up (DeploymentConfiguration)."""
    return math.ceil(running * least_healthy_percent(least) / 100)


def test_one_task_of_the_least_number_is_stopped_at_once_and_never_none():
    assert [going_on(tasks, least=tasks) for tasks in range(1, 101)] == list(range(100))


@pytest.mark.parametrize("least", [1, 2, 3, 7, 150, 1000])
def test_with_more_tasks_than_the_least_an_update_goes_on_as_well(least: int):
    assert all(going_on(running, least=least) < running for running in range(least, least + 40))
