"""What is refused of an endpoint's operations, by itself and beside each other; tokens pass."""

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.endpoint_operations import check_operations
from llm_fleet.rules.sagemaker.endpoint_rollout import waits_seconds
from llm_fleet.rules.sagemaker.rollout_kind import RolloutKind
from llm_fleet.sagemaker.endpoint.data_capture import DataCapture
from llm_fleet.sagemaker.endpoint.endpoint_alarm_thresholds import EndpointAlarmThresholds
from llm_fleet.sagemaker.endpoint.endpoint_budget import EndpointBudget
from llm_fleet.sagemaker.endpoint.endpoint_rollout import EndpointRollout
from llm_fleet.sagemaker.endpoint.endpoint_scaling import EndpointScaling
from llm_fleet.sagemaker.endpoint.endpoint_time_to_live import EndpointTimeToLive
from llm_fleet.sagemaker.endpoint.operations import EndpointOperations

WRONG: list[tuple[Callable[..., Any], dict[str, Any], Any, str]] = [
    (DataCapture, {"percent": 0}, SageMakerCode.CAPTURE_PERCENT, "percent"),
    (DataCapture, {"percent": 101}, SageMakerCode.CAPTURE_PERCENT, "percent"),
    (DataCapture, {"percent": "20"}, SageMakerCode.CAPTURE_PERCENT, "percent"),
    (DataCapture, {"inputs": False, "outputs": False}, SageMakerCode.CAPTURE_NOTHING, "inputs"),
    (DataCapture, {"uri": "my-bucket/captured"}, SageMakerCode.CAPTURE_PLACE, "uri"),
    (DataCapture, {"uri": "s3://my-bucket/*"}, SageMakerCode.CAPTURE_PLACE, "uri"),
    (DataCapture, {"uri": f"s3://my-bucket/{'a' * 600}"}, SageMakerCode.CAPTURE_PLACE, "uri"),
    (EndpointScaling, {"maximum": 0}, SageMakerCode.ENDPOINT_SCALING, "maximum"),
    (EndpointScaling, {"maximum": 3, "minimum": 0}, SageMakerCode.ENDPOINT_SCALING, "minimum"),
    (EndpointScaling, {"maximum": 3, "minimum": 4}, SageMakerCode.ENDPOINT_SCALING, "minimum"),
    (
        EndpointScaling,
        {"maximum": 3, "concurrent_requests": 0},
        SageMakerCode.ENDPOINT_SCALING_TARGET,
        "concurrent_requests",
    ),
    (
        EndpointScaling,
        {"maximum": 3, "invocations_per_minute": float("nan")},
        SageMakerCode.ENDPOINT_SCALING_TARGET,
        "invocations_per_minute",
    ),
    (
        EndpointScaling,
        {"maximum": 3, "concurrent_requests": 5, "invocations_per_minute": 60},
        Code.CONTRADICTION,
        "invocations_per_minute",
    ),
    (
        EndpointScaling,
        {"maximum": 3, "scale_in_seconds": -1},
        SageMakerCode.ENDPOINT_SCALING_TARGET,
        "scale_in_seconds",
    ),
    (EndpointRollout.canary, {"percent": 51}, SageMakerCode.ROLLOUT_STEP, "percent"),
    (EndpointRollout.linear, {"percent": 9}, SageMakerCode.ROLLOUT_STEP, "percent"),
    (EndpointRollout.rolling, {"percent": 4}, SageMakerCode.ROLLOUT_STEP, "percent"),
    (EndpointRollout, {"percent": 10}, Code.CONTRADICTION, "percent"),
    (
        EndpointRollout,
        {"kind": RolloutKind.ROLLING, "termination_wait_seconds": 60},
        Code.CONTRADICTION,
        "termination_wait_seconds",
    ),
    (EndpointRollout.all_at_once, {"bake_seconds": 3601}, SageMakerCode.ROLLOUT_WAIT, "bake_seconds"),
    (EndpointRollout.all_at_once, {"bake_seconds": 60}, SageMakerCode.ROLLOUT_WAIT, "bake_seconds"),
    (EndpointRollout.all_at_once, {"timeout_seconds": 599}, SageMakerCode.ROLLOUT_WAIT, "timeout_seconds"),
    (EndpointRollout.linear, {"timeout_seconds": 2520}, SageMakerCode.ROLLOUT_WAIT, "timeout_seconds"),
    (EndpointRollout.all_at_once, {"alarm_names": [""]}, SageMakerCode.ROLLOUT_ALARMS, "alarm_names[0]"),
    (EndpointRollout.all_at_once, {"alarm_names": ["a", "a"]}, SageMakerCode.ROLLOUT_ALARMS, "alarm_names[1]"),
    (
        EndpointRollout.all_at_once,
        {"alarm_names": ["arn:aws:cloudwatch:us-west-2:1:alarm:a"]},
        SageMakerCode.ROLLOUT_ALARMS,
        "alarm_names[0]",
    ),
    (EndpointRollout.all_at_once, {"alarm_names": list("abcdefghi")}, SageMakerCode.ROLLOUT_ALARMS, "alarm_names"),
    (EndpointTimeToLive, {}, SageMakerCode.TIME_TO_LIVE, "(whole)"),
    (EndpointTimeToLive, {"hours": 0}, SageMakerCode.TIME_TO_LIVE, "(whole)"),
    (EndpointTimeToLive, {"minutes": 14}, SageMakerCode.TIME_TO_LIVE, "(whole)"),
    (EndpointTimeToLive, {"days": 366}, SageMakerCode.TIME_TO_LIVE, "(whole)"),
    (EndpointTimeToLive, {"hours": 1.5}, SageMakerCode.TIME_TO_LIVE, "hours"),
    (EndpointTimeToLive, {"hours": -4}, SageMakerCode.TIME_TO_LIVE, "hours"),
    (EndpointBudget, {"monthly_usd": 0}, SageMakerCode.BUDGET_AMOUNT, "monthly_usd"),
    (EndpointBudget, {"monthly_usd": "200"}, SageMakerCode.BUDGET_AMOUNT, "monthly_usd"),
    (EndpointBudget, {"monthly_usd": 200, "at_percent": (0,)}, SageMakerCode.BUDGET_THRESHOLD, "at_percent[0]"),
    (EndpointBudget, {"monthly_usd": 200, "at_percent": ()}, SageMakerCode.BUDGET_THRESHOLD, "at_percent"),
    (EndpointBudget, {"monthly_usd": 200, "at_percent": (80, 80)}, SageMakerCode.BUDGET_THRESHOLD, "at_percent"),
    (EndpointBudget, {"monthly_usd": 200, "at_percent": range(1, 6)}, SageMakerCode.BUDGET_THRESHOLD, "at_percent"),
    (EndpointBudget, {"monthly_usd": 200, "emails": ["team"]}, SageMakerCode.BUDGET_READERS, "emails[0]"),
    (
        EndpointBudget,
        {"monthly_usd": 200, "emails": [f"{n}@example.com" for n in range(11)]},
        SageMakerCode.BUDGET_READERS,
        "emails",
    ),
    (EndpointAlarmThresholds, {"server_error_percent": 101}, SageMakerCode.ENDPOINT_ALARM, "server_error_percent"),
    (EndpointAlarmThresholds, {"model_latency_seconds": 0}, SageMakerCode.ENDPOINT_ALARM, "model_latency_seconds"),
    (EndpointAlarmThresholds, {"idle_hours": 169}, SageMakerCode.ENDPOINT_ALARM, "idle_hours"),
]


@pytest.mark.parametrize(("make", "values", "code", "where"), WRONG)
def test_a_wrong_value_is_told_with_its_place_and_a_remedy(
    make: Callable[..., Any], values: dict[str, Any], code: Any, where: str
) -> None:
    with pytest.raises(FleetError) as refused:
        make(**values)
    (problem,) = refused.value.problems
    assert (problem.code, problem.where or "(whole)") == (code, where)
    assert problem.remedy
    assert not problem.message.endswith(".")


def test_zero_instances_and_a_life_of_nothing_say_why() -> None:
    with pytest.raises(FleetError, match="inference components"):
        EndpointScaling(maximum=3, minimum=0)
    with pytest.raises(FleetError, match="a time to live of nothing deletes the endpoint as soon as it is there"):
        EndpointTimeToLive()


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(FleetError) as refused:
        EndpointBudget(monthly_usd=-1, at_percent=(80, -1), emails=["a", "b@example.com"])
    assert [problem.where for problem in refused.value.problems] == ["monthly_usd", "at_percent[1]", "emails[0]"]


@pytest.mark.parametrize(
    ("rollout", "seconds"),
    [
        (EndpointRollout(), 600 + 120),
        (EndpointRollout.canary(bake_seconds=300, termination_wait_seconds=0), 2 * 300),
        (EndpointRollout.linear(percent=30), 4 * 600 + 120),
        (EndpointRollout.rolling(percent=50, bake_seconds=400), 2 * 400),
    ],
)
def test_how_long_an_update_waits(rollout: EndpointRollout, seconds: int) -> None:
    assert waits_seconds(rollout) == seconds


def told(
    operations: EndpointOperations, instance_type: str = "ml.g4dn.xlarge", count: int = 1
) -> list[tuple[Any, str]]:
    found = check_operations(operations, instance_type=instance_type, instance_count=count)
    return [(problem.code, problem.where) for problem in found]


def test_what_does_not_fit_is_told() -> None:
    canary = EndpointRollout.canary()
    impossible = [(SageMakerCode.ROLLOUT_IMPOSSIBLE, "rollout.kind")]
    assert told(EndpointOperations()) == []
    assert told(EndpointOperations(rollout=canary)) == impossible
    assert told(EndpointOperations(rollout=canary), count=2) == []
    assert told(EndpointOperations(rollout=canary), "ml.inf1.xlarge", 2) == impossible
    assert told(EndpointOperations(), "ml.inf1.xlarge", 2) == []
    assert told(EndpointOperations(rollout=canary, scaling=EndpointScaling(maximum=4, minimum=2))) == []
    assert told(EndpointOperations(scaling=EndpointScaling(maximum=2)), count=3) == [
        (SageMakerCode.ENDPOINT_SCALING, "scaling.maximum")
    ]
    assert told(EndpointOperations(budget=EndpointBudget(monthly_usd=200))) == [
        (SageMakerCode.BUDGET_READERS, "budget.emails")
    ]
    assert told(EndpointOperations(budget=EndpointBudget(monthly_usd=200, emails=["team@example.com"]))) == []


def test_an_endpoint_begins_with_the_least_that_scaling_allows() -> None:
    assert EndpointOperations().initial_instance_count(2) == 2
    assert EndpointOperations(scaling=EndpointScaling(maximum=4, minimum=3)).initial_instance_count(1) == 3
    assert EndpointOperations(scaling=EndpointScaling(maximum=4)).initial_instance_count(2) == 2


def test_tokens_pass() -> None:
    number: Any = cdk.Token.as_number({"Ref": "Number"})
    text = cdk.Token.as_string({"Ref": "Text"})
    names = cdk.Token.as_list({"Ref": "Names"})
    DataCapture(percent=number, uri=text)
    EndpointScaling(maximum=number, minimum=number, concurrent_requests=number, scale_in_seconds=number)
    EndpointRollout.canary(percent=number, bake_seconds=number, timeout_seconds=number, alarm_names=names)
    EndpointBudget(monthly_usd=number, emails=[text])
    EndpointAlarmThresholds(server_error_percent=number, idle_hours=number)
    operations = EndpointOperations(rollout=EndpointRollout.canary(), scaling=EndpointScaling(maximum=number))
    assert told(operations, text, number) == []
    assert operations.initial_instance_count(number) == number
