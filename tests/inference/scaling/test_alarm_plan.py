"""Which alarms there are, when they ring, and that each says what to do."""

from typing import Any

import pytest

from llm_fleet.inference.alarms import alarm_plans
from llm_fleet.inference.metrics import ServiceMetrics
from llm_fleet.notifications.metric_alarms import AlarmPlan, MetricMath
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.service import check_thresholds
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.service import Alarms


def plans(server: str = "tgi", *, neuron_health: bool = True, **thresholds: Any) -> dict[str, AlarmPlan]:
    metrics = ServiceMetrics(
        server=server,
        batch_size=8,
        cluster_name="chat",
        service_name="chat",
        load_balancer="app/chat/1",
        target_group="targetgroup/chat/2",
    )
    found = alarm_plans(metrics, Alarms(**thresholds), neuron_health=neuron_health)
    return {plan.id: plan for plan in found}


def test_everything_that_was_asked_for_has_an_alarm():
    assert list(plans()) == [
        "Queue",
        "TimeToFirstToken",
        "ServerErrors",
        "Rejected",
        "LoadBalancerErrors",
        "UnhealthyHosts",
        "NoHealthyHost",
        "NoMetrics",
        "HostRefused",
        "TaskStopped",
        "NeuronError",
    ]


def test_a_server_that_turns_nobody_away_has_no_alarm_for_it():
    assert "Rejected" not in plans("aws-vllm")


def test_failed_generations_of_tgi_count_as_errors_though_they_are_no_5xx():
    tgi, vllm = (plans(server)["ServerErrors"].measure for server in ("tgi", "aws-vllm"))
    assert isinstance(tgi, MetricMath)
    assert isinstance(vllm, MetricMath)
    assert tgi.expression == "100 * (FILL(errors, 0) + FILL(failed, 0)) / requests"
    assert dict(tgi.metrics["failed"].dimensions)["err"] == "generation"
    assert vllm.expression == "100 * (FILL(errors, 0)) / requests"


def test_no_detector_no_alarm_of_it():
    assert "NeuronError" not in plans(neuron_health=False)


def test_only_silence_about_health_rings():
    silent = {id for id, plan in plans().items() if plan.missing == "breaching"}
    assert silent == {"NoHealthyHost", "NoMetrics"}


@pytest.mark.parametrize("id", list(plans()))
def test_each_says_what_to_do_in_what_cloudwatch_keeps(id: str):
    plan = plans()[id]
    assert len(plan.meaning) <= 1024
    assert plan.meaning.endswith(".")
    assert "|" not in plan.meaning  # it stands in a table of the dashboard
    assert 1 <= plan.ringing <= plan.periods
    # CloudWatch looks back a day at most (API_PutMetricAlarm: EvaluationPeriods times Period).
    assert plan.periods * plan.measure.period_seconds <= 86400


def test_the_queue_that_rings_grows_with_the_batch():
    assert plans()["Queue"].threshold == 16
    assert plans(waiting_requests=3)["Queue"].threshold == 3


def test_thresholds_told_are_those_taken_and_said():
    first = plans(time_to_first_token_seconds=2.5)["TimeToFirstToken"]
    assert first.threshold == 2.5
    assert "(2.5 s or more)" in first.meaning
    assert plans(server_error_percent=1)["ServerErrors"].threshold == 1


def test_a_threshold_that_only_the_deployment_knows_is_not_written_out():
    first = plans(time_to_first_token_seconds=-1.8881545897087e289)["TimeToFirstToken"]
    assert "e+289" not in first.meaning


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time_to_first_token_seconds", 0),
        ("waiting_requests", -1),
        ("server_error_percent", 101),
        ("server_error_percent", float("nan")),
    ],
)
def test_a_threshold_that_cannot_be(name: str, value: Any):
    (problem,) = check_thresholds(Alarms(**{name: value}))
    assert (problem.code, problem.where) == (Code.ALARM_THRESHOLD, name)


@pytest.mark.parametrize("value", ["many", True])
def test_a_threshold_that_is_no_number(value: Any):
    with pytest.raises(FleetError) as refused:
        Alarms(waiting_requests=value)
    assert [(problem.code, problem.where) for problem in refused.value.problems] == [
        (Code.WRONG_TYPE, "waiting_requests")
    ]
