"""What the page on an endpoint's operations promises is what the code does."""

from dataclasses import fields
from typing import Any

import pytest

from llm_fleet import DataCapture, EndpointAlarmThresholds, EndpointBudget, EndpointRollout, EndpointScaling
from llm_fleet.catalog.endpoint_operations import endpoint_alarm_facts, endpoint_scaling_facts, rollout_facts
from llm_fleet.config.sagemaker.endpoint_alarms import EndpointAlarmsConfig
from llm_fleet.config.sagemaker.endpoint_budget import EndpointBudgetConfig
from llm_fleet.config.sagemaker.endpoint_data_capture import EndpointDataCaptureConfig
from llm_fleet.config.sagemaker.endpoint_rollout import EndpointRolloutConfig
from llm_fleet.config.sagemaker.endpoint_scaling import EndpointScalingConfig
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from tools.synth_environment import ROOT

PAGE = (ROOT / "docs" / "constructs" / "hugging-face-endpoint-operations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("value", "config"),
    [
        (DataCapture, EndpointDataCaptureConfig),
        (EndpointScaling, EndpointScalingConfig),
        (EndpointRollout, EndpointRolloutConfig),
        (EndpointBudget, EndpointBudgetConfig),
        (EndpointAlarmThresholds, EndpointAlarmsConfig),
    ],
)
def test_every_field_and_its_key_are_on_the_page(value: Any, config: Any) -> None:
    names = [field.name for field in fields(value)]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
    assert [key for name in names if f"`{(key := config.key_of(name))}`" not in PAGE] == []


def test_defaults_are_as_the_page_says() -> None:
    scaling, rollout, alarms = endpoint_scaling_facts(), rollout_facts(), endpoint_alarm_facts()
    assert f"| `concurrent_requests` | {scaling.concurrent_requests:g} at a time" in PAGE
    assert f"| `wait_after_adding` | {scaling.out_seconds} |" in PAGE
    assert f"| `wait_after_taking` | {scaling.in_seconds} |" in PAGE
    for kind, limit in rollout.step_percent.items():
        words = (
            f"| `{kind.lower()}` | {limit.minimum} to {limit.maximum} %, default {rollout.default_step_percent[kind]} |"
        )
        assert words in PAGE
    assert f"| `watch` | {rollout.default_bake_seconds}; {rollout.shortest_bake_seconds} at least" in PAGE
    assert f"| `keep_old` | {rollout.default_termination_wait_seconds} |" in PAGE
    assert f"{alarms.server_error_percent:g} % of the requests" in PAGE
    assert f"took {alarms.model_latency_seconds:g} s or more" in PAGE
    assert f"ran for {alarms.idle_hours} hours" in PAGE
    assert f"| `percent` | `percent` | {DataCapture().percent} |" in PAGE


def test_every_code_is_on_the_page() -> None:
    ours = [code.value for code in SageMakerCode if "LF945" <= code.value <= "LF959"]
    assert ours
    assert [code for code in ours if code not in PAGE] == []
