"""The alarms, their thresholds, and the dashboard that shows them."""

import re
from typing import Any

import pytest

from llm_fleet.inference.alarms import alarm_plans
from llm_fleet.inference.metrics import ServiceMetrics
from llm_fleet.inference.service_monitoring import service_dashboard
from llm_fleet.notifications.metric_alarms import AlarmPlan, MetricMath, page
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.service import check_thresholds
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


def test_every_enabled_feature_has_its_alarms():
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


def test_a_server_that_rejects_no_requests_has_no_alarm_on_rejected_requests():
    assert "Rejected" not in plans("aws-vllm")


def test_failed_generations_of_tgi_count_as_errors():
    tgi, vllm = (plans(server)["ServerErrors"].measure for server in ("tgi", "aws-vllm"))
    assert isinstance(tgi, MetricMath)
    assert isinstance(vllm, MetricMath)
    assert tgi.expression == "100 * (FILL(errors, 0) + FILL(failed, 0)) / requests"
    assert dict(tgi.metrics["failed"].dimensions)["err"] == "generation"
    assert vllm.expression == "100 * (FILL(errors, 0)) / requests"


def test_without_the_detector_it_has_no_alarm():
    assert "NeuronError" not in plans(neuron_health=False)


def test_missing_data_is_an_alarm_only_for_health_and_metrics():
    silent = {id for id, plan in plans().items() if plan.missing == "breaching"}
    assert silent == {"NoHealthyHost", "NoMetrics"}


@pytest.mark.parametrize("id", list(plans()))
def test_each_alarm_is_described_within_the_limits_of_cloudwatch(id: str):
    plan = plans()[id]
    assert len(plan.meaning) <= 1024
    assert plan.meaning.endswith(".")
    assert "|" not in plan.meaning  # it is in a table of the dashboard
    assert 1 <= (plan.ringing or plan.periods) <= plan.periods
    # CloudWatch evaluates at most a day (API_PutMetricAlarm: EvaluationPeriods times Period).
    assert plan.periods * plan.measure.period_seconds <= 86400


def test_the_threshold_of_the_queue_depends_on_the_batch_size():
    assert plans()["Queue"].threshold == 16
    assert plans(waiting_requests=3)["Queue"].threshold == 3


def test_given_thresholds_are_used_and_described():
    first = plans(time_to_first_token_seconds=2.5)["TimeToFirstToken"]
    assert first.threshold == 2.5
    assert "(2.5 s or more)" in first.meaning
    assert plans(server_error_percent=1)["ServerErrors"].threshold == 1


def test_a_threshold_that_is_a_token_is_not_in_the_description():
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
def test_an_invalid_threshold_is_rejected(name: str, value: Any):
    (problem,) = check_thresholds(Alarms(**{name: value}))
    assert (problem.code, problem.where) == (Code.ALARM_THRESHOLD, name)


# docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
REQUIRED = {"metric": {"metrics", "region"}, "text": {"markdown"}, "alarm": {"alarms"}}
METRIC_KEYS = {"title", "view", "stacked", "period", "metrics", "yAxis", "annotations", "region"}
ROW_KEYS = {"stat", "label", "id", "visible"}
EXPRESSION_KEYS = {"expression", "label", "id"}
STATISTICS = {"Average", "Sum", "Minimum", "Maximum", "SampleCount"}


def body(server: str = "tgi", *, neuron_health: bool = True) -> dict[str, Any]:
    metrics = ServiceMetrics(
        server=server,
        batch_size=4,
        cluster_name="chat",
        service_name="chat",
        load_balancer="app/chat/1",
        target_group="targetgroup/chat/2",
    )
    plans = alarm_plans(metrics, Alarms(), neuron_health=neuron_health)
    arns = [f"arn:aws:cloudwatch:us-west-2:111122223333:alarm:{plan.id}" for plan in plans]
    return page(service_dashboard(metrics, plans, alarm_arns=arns, tasks_at_most=6), "us-west-2")


def graphs(server: str = "tgi") -> dict[str, dict[str, Any]]:
    widgets = body(server)["widgets"]
    return {w["properties"]["title"]: w["properties"] for w in widgets if w["type"] == "metric"}


@pytest.mark.parametrize("server", ["tgi", "aws-vllm"])
def test_every_widget_has_a_position_and_the_properties_of_its_type(server: str):
    found = body(server)
    assert set(found) == {"start", "periodOverride", "widgets"}
    taken: set[tuple[int, int]] = set()
    for widget in found["widgets"]:
        assert set(widget) == {"type", "x", "y", "width", "height", "properties"}
        assert widget["x"] + widget["width"] <= 24
        assert 1 <= widget["height"] <= 1000
        assert REQUIRED[widget["type"]] <= set(widget["properties"])
        places = {
            (x, y)
            for x in range(widget["x"], widget["x"] + widget["width"])
            for y in range(widget["y"], widget["y"] + widget["height"])
        }
        assert not places & taken
        taken |= places


@pytest.mark.parametrize("server", ["tgi", "aws-vllm"])
def test_every_row_of_a_graph_is_a_metric_or_an_expression(server: str):
    for properties in graphs(server).values():
        assert set(properties) <= METRIC_KEYS
        assert len(properties["metrics"]) <= 500
        for row in properties["metrics"]:
            *names, options = row
            if not names:
                assert set(options) == EXPRESSION_KEYS
                continue
            assert len(names) % 2 == 0  # namespace and name, then pairs of dimension and value
            assert len(names) <= 2 + 2 * 30
            assert set(options) <= ROW_KEYS
            assert options["stat"] in STATISTICS


@pytest.mark.parametrize("server", ["tgi", "aws-vllm"])
def test_expressions_use_ids_of_their_own_graph_and_ids_are_unique(server: str):
    for title, properties in graphs(server).items():
        ids = [row[-1]["id"] for row in properties["metrics"] if "id" in row[-1]]
        assert len(ids) == len(set(ids)), title
        for row in properties["metrics"]:
            if "expression" in row[-1]:
                used = set(re.findall(r"\b[a-z]\w*\b", row[-1]["expression"]))
                assert used <= set(ids), title


def test_the_time_to_the_first_token_of_tgi_is_a_sum_of_three_metrics():
    rows = graphs()["Time to first token, average (s)"]["metrics"]
    (expression,) = [row[0]["expression"] for row in rows if len(row) == 1]
    assert expression == " + ".join(
        f"m0_{id}" for id in ("time_to_first_token", *("time_to_first_token1",), "time_to_first_token2")
    )


def test_the_dashboard_shows_enabled_features():
    shown = set(graphs())
    for what in ("first token", "Waiting", "Errors", "Targets", "Neuron", "refused"):
        assert any(what in title for title in shown), what
    assert not any("Neuron" in title for title in _titles(body(neuron_health=False)))


def test_the_dashboard_has_remedies_of_all_alarms():
    (text,) = [w["properties"]["markdown"] for w in body()["widgets"] if w["type"] == "text"]
    (alarms,) = [w["properties"]["alarms"] for w in body()["widgets"] if w["type"] == "alarm"]
    assert len(alarms) == 11
    assert all(f"| {arn.rpartition(':')[2]} | " in text for arn in alarms)


def test_the_threshold_of_an_alarm_is_in_its_graph():
    lines = graphs()["Time to first token, average (s)"]["annotations"]["horizontal"]
    assert lines == [{"label": "alarm", "value": 10}]


def _titles(found: dict[str, Any]) -> list[str]:
    return [w["properties"]["title"] for w in found["widgets"] if w["type"] == "metric"]
