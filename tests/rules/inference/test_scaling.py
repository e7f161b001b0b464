"""Rules of the number of tasks, and of scaling."""

from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.service import check_scaling
from llm_fleet.rules.problem import AnyCode, Problem
from llm_fleet.spec.service import ServiceSpec
from tests.rules.inference.services import service

TARGETS = ("queue_target", "requests_per_minute_target")


def reported(**numbers: Any) -> ServiceSpec:
    scaling = {name: numbers.pop(name) for name in TARGETS if name in numbers}
    return service(scaling=scaling, **numbers)


def problems(**numbers: Any) -> list[Problem]:
    return check_scaling(reported(**numbers))


def codes(**numbers: Any) -> list[tuple[AnyCode, str]]:
    return [(problem.code, problem.where) for problem in problems(**numbers)]


def test_the_default_is_two_tasks_and_no_scaling():
    tasks = service().tasks
    assert (tasks.desired, tasks.minimum, tasks.maximum, tasks.scales) == (2, 2, 2, False)


@pytest.mark.parametrize(
    ("given", "desired", "bounds"),
    [
        ({"minimum": 3, "maximum": 6}, 3, (3, 6)),
        ({"maximum": 6}, 2, (2, 6)),
        ({"maximum": 1}, 1, (1, 1)),
        ({"desired": 4, "maximum": 8}, 4, (4, 8)),
        ({"desired": 4, "minimum": 2, "maximum": 8}, 4, (2, 8)),
        ({"minimum": 3}, 3, (3, 3)),
        ({"minimum": 1}, 2, (1, 2)),
        ({"minimum": 1, "maximum": 1}, 1, (1, 1)),
    ],
)
def test_omitted_numbers_are_derived_from_given_ones(given: dict[str, int], desired: int, bounds: tuple[int, int]):
    assert problems(**given) == []
    tasks = reported(**given).tasks
    assert tasks.desired == desired
    assert (tasks.minimum, tasks.maximum) == bounds


def test_a_desired_number_above_the_maximum_is_reported():
    (problem,) = problems(desired=4, maximum=2)
    assert problem.code is Code.SCALING_BOUNDS
    assert problem.where == "desired"
    assert problem.value == 4
    assert problem.allowed == "up to 2"
    assert "maximum 4" in problem.remedy


def test_minimum_above_maximum_is_reported_once():
    assert codes(minimum=5, maximum=2) == [(Code.SCALING_BOUNDS, "minimum")]
    assert codes(desired=3, minimum=5, maximum=2) == [(Code.SCALING_BOUNDS, "minimum")]


def test_a_desired_number_below_the_minimum_is_reported():
    assert codes(desired=1, minimum=2, maximum=4) == [(Code.SCALING_BOUNDS, "desired")]


@pytest.mark.parametrize("value", [0, -1, 5001, 2.5, "2", True])
@pytest.mark.parametrize("attribute", ["desired", "minimum", "maximum"])
def test_an_invalid_number_of_tasks_is_reported(attribute: str, value: Any):
    assert (Code.SCALING_COUNT, attribute) in codes(**{attribute: value})


@pytest.mark.parametrize("value", [0, -1, 0.0, float("nan"), float("inf"), "3", True])
@pytest.mark.parametrize("target", ["queue_target", "requests_per_minute_target"])
def test_a_target_is_a_number_above_zero(target: str, value: Any):
    assert codes(maximum=4, **{target: value}) == [(Code.SCALING_TARGET, f"scaling.{target}")]


def test_two_targets_are_reported():
    assert codes(maximum=4, queue_target=2, requests_per_minute_target=60) == [
        (Code.SCALING_TWO_TARGETS, "scaling.requests_per_minute_target")
    ]


def test_a_target_without_scaling_is_reported():
    (problem,) = problems(desired=3, queue_target=2)
    assert problem.code is Code.SCALING_FIXED
    assert "`maximum` above 3" in problem.remedy


def test_all_problems_are_reported_together():
    found = codes(desired=0, queue_target=-1, requests_per_minute_target=0)
    assert [code for code, _ in found] == [
        Code.SCALING_COUNT,
        Code.SCALING_TARGET,
        Code.SCALING_TARGET,
        Code.SCALING_TWO_TARGETS,
    ]


def test_the_default_queue_target_is_one():
    assert reported(maximum=4).queue_target == 1
    assert reported(maximum=4, queue_target=0.5).queue_target == 0.5


def test_tokens_pass():
    token: Any = -1.8881545897087e289
    assert problems(desired=2, minimum=2, maximum=token, queue_target=token) == []
    assert reported(maximum=token).tasks.desired == 2
    assert reported(minimum=token).tasks.desired == token
