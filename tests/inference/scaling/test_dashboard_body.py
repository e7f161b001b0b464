"""The dashboard has the form that CloudWatch documents, and shows what alarms look at."""

import re
from typing import Any

import pytest

from llm_fleet.inference.alarms import alarm_plans
from llm_fleet.inference.metrics import ServiceMetrics
from llm_fleet.inference.sight import dashboard_body
from llm_fleet.spec.service import Alarms

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
    return dashboard_body(metrics, plans, alarm_arns=arns, region="us-west-2", tasks_at_most=6)


def graphs(server: str = "tgi") -> dict[str, dict[str, Any]]:
    widgets = body(server)["widgets"]
    return {w["properties"]["title"]: w["properties"] for w in widgets if w["type"] == "metric"}


@pytest.mark.parametrize("server", ["tgi", "aws-vllm"])
def test_every_widget_has_its_place_and_what_its_type_needs(server: str):
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
def test_expressions_use_ids_of_their_own_graph_and_ids_are_there_once(server: str):
    for title, properties in graphs(server).items():
        ids = [row[-1]["id"] for row in properties["metrics"] if "id" in row[-1]]
        assert len(ids) == len(set(ids)), title
        for row in properties["metrics"]:
            if "expression" in row[-1]:
                used = set(re.findall(r"\b[a-z]\w*\b", row[-1]["expression"]))
                assert used <= set(ids), title


def test_the_time_to_the_first_token_of_tgi_is_a_sum_of_three():
    rows = graphs()["Time to first token, average (s)"]["metrics"]
    (expression,) = [row[0]["expression"] for row in rows if len(row) == 1]
    assert expression == " + ".join(
        f"m0_{id}" for id in ("time_to_first_token", *("time_to_first_token1",), "time_to_first_token2")
    )


def test_what_is_asked_for_is_shown():
    shown = set(graphs())
    for what in ("first token", "waiting", "Errors", "Targets", "Neuron", "refused"):
        assert any(what in title for title in shown), what
    assert not any("Neuron" in title for title in _titles(body(neuron_health=False)))


def test_remedies_of_all_alarms_stand_on_it():
    (text,) = [w["properties"]["markdown"] for w in body()["widgets"] if w["type"] == "text"]
    (alarms,) = [w["properties"]["alarms"] for w in body()["widgets"] if w["type"] == "alarm"]
    assert len(alarms) == 11
    assert all(f"| {arn.rpartition(':')[2]} | " in text for arn in alarms)


def test_the_alarms_threshold_is_drawn():
    lines = graphs()["Time to first token, average (s)"]["annotations"]["horizontal"]
    assert lines == [{"label": "alarm", "value": 10}]


def _titles(found: dict[str, Any]) -> list[str]:
    return [w["properties"]["title"] for w in found["widgets"] if w["type"] == "metric"]
