"""Rules of an endpoint's operations, single and combined; tokens pass."""

from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.sagemaker.endpoint_operations import waits_seconds
from llm_fleet.spec.endpoint_operations import (
    DataCapture,
    EndpointAlarms,
    EndpointBudget,
    EndpointRollout,
    EndpointScaling,
    RolloutKind,
)
from llm_fleet.spec.spec import Spec
from tests.rules.sagemaker.endpoints import endpoint, problems

WRONG: list[tuple[str, type[Spec], dict[str, Any], Any, str]] = [
    ("data_capture", DataCapture, {"percent": 0}, "LF945", "percent"),
    ("data_capture", DataCapture, {"percent": 101}, "LF945", "percent"),
    ("data_capture", DataCapture, {"inputs": False, "outputs": False}, "LF946", "inputs"),
    ("data_capture", DataCapture, {"uri": "my-bucket/captured"}, "LF947", "uri"),
    ("data_capture", DataCapture, {"uri": "s3://my-bucket/*"}, "LF947", "uri"),
    ("data_capture", DataCapture, {"uri": f"s3://my-bucket/{'a' * 600}"}, "LF947", "uri"),
    ("scaling", EndpointScaling, {"maximum": 0}, "LF948", "maximum"),
    ("scaling", EndpointScaling, {"maximum": 3, "minimum": 0}, "LF948", "minimum"),
    ("scaling", EndpointScaling, {"maximum": 3, "minimum": 4}, "LF948", "minimum"),
    ("scaling", EndpointScaling, {"maximum": 3, "concurrent_requests": 0}, "LF949", "concurrent_requests"),
    (
        "scaling",
        EndpointScaling,
        {"maximum": 3, "invocations_per_minute": float("nan")},
        "LF949",
        "invocations_per_minute",
    ),
    (
        "scaling",
        EndpointScaling,
        {"maximum": 3, "concurrent_requests": 5, "invocations_per_minute": 60},
        "LF117",
        "invocations_per_minute",
    ),
    ("scaling", EndpointScaling, {"maximum": 3, "scale_in_seconds": -1}, "LF949", "scale_in_seconds"),
    ("rollout", EndpointRollout, {"kind": RolloutKind.CANARY, "percent": 51}, "LF950", "percent"),
    ("rollout", EndpointRollout, {"kind": RolloutKind.LINEAR, "percent": 9}, "LF950", "percent"),
    ("rollout", EndpointRollout, {"kind": RolloutKind.ROLLING, "percent": 4}, "LF950", "percent"),
    ("rollout", EndpointRollout, {"percent": 10}, "LF117", "percent"),
    (
        "rollout",
        EndpointRollout,
        {"kind": RolloutKind.ROLLING, "termination_wait_seconds": 60},
        "LF117",
        "termination_wait_seconds",
    ),
    ("rollout", EndpointRollout, {"kind": RolloutKind.ALL_AT_ONCE, "bake_seconds": 3601}, "LF951", "bake_seconds"),
    ("rollout", EndpointRollout, {"kind": RolloutKind.ALL_AT_ONCE, "bake_seconds": 60}, "LF951", "bake_seconds"),
    ("rollout", EndpointRollout, {"kind": RolloutKind.ALL_AT_ONCE, "timeout_seconds": 599}, "LF951", "timeout_seconds"),
    ("rollout", EndpointRollout, {"kind": RolloutKind.LINEAR, "timeout_seconds": 2520}, "LF951", "timeout_seconds"),
    ("rollout", EndpointRollout, {"kind": RolloutKind.ALL_AT_ONCE, "alarm_names": [""]}, "LF953", "alarm_names[0]"),
    (
        "rollout",
        EndpointRollout,
        {"kind": RolloutKind.ALL_AT_ONCE, "alarm_names": ["a", "a"]},
        "LF953",
        "alarm_names[1]",
    ),
    (
        "rollout",
        EndpointRollout,
        {"kind": RolloutKind.ALL_AT_ONCE, "alarm_names": ["arn:aws:cloudwatch:us-west-2:1:alarm:a"]},
        "LF953",
        "alarm_names[0]",
    ),
    (
        "rollout",
        EndpointRollout,
        {"kind": RolloutKind.ALL_AT_ONCE, "alarm_names": list("abcdefghi")},
        "LF953",
        "alarm_names",
    ),
    ("budget", EndpointBudget, {"monthly_usd": 0}, "LF955", "monthly_usd"),
    ("budget", EndpointBudget, {"monthly_usd": 200, "at_percent": (0,)}, "LF956", "at_percent[0]"),
    ("budget", EndpointBudget, {"monthly_usd": 200, "at_percent": ()}, "LF956", "at_percent"),
    ("budget", EndpointBudget, {"monthly_usd": 200, "at_percent": (80, 80)}, "LF956", "at_percent"),
    ("budget", EndpointBudget, {"monthly_usd": 200, "at_percent": (1, 2, 3, 4, 5)}, "LF956", "at_percent"),
    ("budget", EndpointBudget, {"monthly_usd": 200, "emails": ["team"]}, "LF957", "emails[0]"),
    (
        "budget",
        EndpointBudget,
        {"monthly_usd": 200, "emails": [f"{n}@example.com" for n in range(11)]},
        "LF957",
        "emails",
    ),
    ("alarms", EndpointAlarms, {"server_error_percent": 101}, "LF958", "server_error_percent"),
    ("alarms", EndpointAlarms, {"model_latency_ms": 0}, "LF958", "model_latency_ms"),
    ("alarms", EndpointAlarms, {"idle_hours": 169}, "LF958", "idle_hours"),
]


def reported(has_topic: bool = True, **changes: Any) -> list[tuple[Any, str]]:
    """Codes and paths of all problems of an endpoint with a model in S3 and these operations."""
    return [(problem.code, problem.where) for problem in problems(has_topic=has_topic, **changes)]


@pytest.mark.parametrize(("part", "kind", "values", "code", "where"), WRONG)
def test_a_wrong_value_is_reported_with_its_path_and_a_remedy(
    part: str, kind: type[Spec], values: dict[str, Any], code: Any, where: str
) -> None:
    changes: dict[str, Any] = {part: kind(**values)}
    (problem,) = problems(has_topic=True, instance_count=2, **changes)
    assert (problem.code, problem.where) == (code, f"{part}.{where}")
    assert problem.remedy
    assert not problem.message.endswith(".")


@pytest.mark.parametrize("seconds", [0, 14 * 60, 366 * 86400, -4])
def test_a_time_to_live_that_is_too_short_or_too_long_is_reported(seconds: int) -> None:
    assert reported(time_to_live_seconds=seconds) == [(SageMakerCode.TIME_TO_LIVE, "time_to_live_seconds")]


def test_zero_instances_and_a_time_to_live_of_zero_have_an_explanation() -> None:
    (no_instances,) = problems(scaling=EndpointScaling(maximum=3, minimum=0))
    (no_life,) = problems(time_to_live_seconds=0)
    assert "inference components" in no_instances.remedy
    assert "the interval at which llm-fleet checks" in no_life.remedy


def test_all_problems_are_reported_together() -> None:
    budget = EndpointBudget(monthly_usd=-1, at_percent=(80, -1), emails=["a", "b@example.com"])
    assert [problem.where for problem in problems(budget=budget)] == [
        "budget.monthly_usd",
        "budget.at_percent[1]",
        "budget.emails[0]",
    ]


@pytest.mark.parametrize(
    ("rollout", "seconds"),
    [
        (EndpointRollout(), 600 + 120),
        (EndpointRollout(kind=RolloutKind.CANARY, bake_seconds=300, termination_wait_seconds=0), 2 * 300),
        (EndpointRollout(kind=RolloutKind.LINEAR, percent=30), 4 * 600 + 120),
        (EndpointRollout(kind=RolloutKind.ROLLING, percent=50, bake_seconds=400), 2 * 400),
    ],
)
def test_the_duration_of_an_update_is_computed(rollout: EndpointRollout, seconds: int) -> None:
    assert waits_seconds(rollout) == seconds


def test_settings_that_do_not_fit_together_are_reported() -> None:
    canary = EndpointRollout(kind=RolloutKind.CANARY)
    impossible = [(SageMakerCode.ROLLOUT_IMPOSSIBLE, "rollout.kind")]
    budget = EndpointBudget(monthly_usd=200)
    assert reported() == []
    assert reported(rollout=canary) == impossible
    assert reported(rollout=canary, instance_count=2) == []
    assert impossible[0] in reported(rollout=canary, instance_type="ml.inf1.xlarge", instance_count=2)
    assert impossible[0] not in reported(instance_type="ml.inf1.xlarge", instance_count=2)
    assert reported(rollout=canary, scaling=EndpointScaling(maximum=4, minimum=2)) == []
    assert reported(scaling=EndpointScaling(maximum=2), instance_count=3) == [
        (SageMakerCode.ENDPOINT_SCALING, "scaling.maximum")
    ]
    assert reported(has_topic=False, budget=budget) == [(SageMakerCode.BUDGET_READERS, "budget.emails")]
    assert reported(budget=budget) == []
    assert reported(has_topic=False, budget=EndpointBudget(monthly_usd=200.5, emails=["team@example.com"])) == []


def test_an_endpoint_starts_with_at_least_the_minimum_of_scaling() -> None:
    assert endpoint(instance_count=2).first_instance_count == 2
    assert endpoint(scaling=EndpointScaling(maximum=4, minimum=3)).first_instance_count == 3
    assert endpoint(scaling=EndpointScaling(maximum=4), instance_count=2).first_instance_count == 2


def test_tokens_pass() -> None:
    number: Any = cdk.Token.as_number({"Ref": "Number"})
    text = cdk.Token.as_string({"Ref": "Text"})
    names = cdk.Token.as_list({"Ref": "Names"})
    operations: dict[str, Any] = {
        "instance_count": number,
        "data_capture": DataCapture(percent=number, uri=text),
        "scaling": EndpointScaling(maximum=number, minimum=number, concurrent_requests=number, scale_in_seconds=number),
        "rollout": EndpointRollout(
            kind=RolloutKind.CANARY, percent=number, bake_seconds=number, timeout_seconds=number, alarm_names=names
        ),
        "time_to_live_seconds": number,
        "budget": EndpointBudget(monthly_usd=number, emails=[text]),
        "alarms": EndpointAlarms(server_error_percent=number, model_latency_ms=number, idle_hours=number),
    }
    assert reported(**operations) == []
    assert endpoint(instance_count=number, scaling=EndpointScaling(maximum=number)).first_instance_count == number
