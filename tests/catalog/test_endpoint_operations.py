"""What the catalog says of an endpoint's operations is what botocore's models say."""

from typing import Any

import botocore.session

from llm_fleet.catalog.endpoint_operations import (
    budget_facts,
    capture_facts,
    endpoint_scaling_facts,
    rollout_facts,
    time_to_live_facts,
)
from llm_fleet.catalog.limit import Limit
from llm_fleet.functions.endpoint_reaper.hosting import IN_BETWEEN
from llm_fleet.rules.sagemaker.rollout_kind import RolloutKind


def shape(service: str, name: str) -> Any:
    return botocore.session.get_session().get_service_model(service).shape_for(name)


def limit(service: str, name: str) -> Limit:
    found = shape(service, name).metadata
    return Limit(minimum=found.get("min"), maximum=found.get("max"))


def test_waits_and_alarms_of_a_rollout() -> None:
    facts = rollout_facts()
    assert facts.bake_seconds == limit("sagemaker", "WaitIntervalInSeconds")
    assert facts.termination_wait_seconds == limit("sagemaker", "TerminationWaitInSeconds")
    assert facts.timeout_seconds == limit("sagemaker", "MaximumExecutionTimeoutInSeconds")
    assert facts.alarms == limit("sagemaker", "AlarmList")
    assert {kind.value for kind in RolloutKind} - {"ROLLING"} == set(
        shape("sagemaker", "TrafficRoutingConfigType").enum
    )


def test_the_service_documents_the_steps_of_a_rollout() -> None:
    canary = shape("sagemaker", "TrafficRoutingConfig").members
    rolling = shape("sagemaker", "RollingUpdatePolicy").members["MaximumBatchSize"]
    steps = rollout_facts().step_percent
    assert f"less than or equal to {steps['CANARY'].maximum}%" in canary["CanarySize"].documentation
    assert f"{steps['LINEAR'].minimum}-{steps['LINEAR'].maximum}%" in canary["LinearStepSize"].documentation
    assert f"between {steps['ROLLING'].minimum}% to {steps['ROLLING'].maximum}%" in rolling.documentation


def test_data_capture() -> None:
    facts, percent = capture_facts(), limit("sagemaker", "SamplingPercentage")
    assert (percent.minimum, facts.percent.maximum) == (0, percent.maximum)  # 0 is taken by the service alone
    assert facts.uri.maximum == limit("sagemaker", "DestinationS3Uri").maximum


def test_scaling() -> None:
    facts = endpoint_scaling_facts()
    assert facts.dimension in shape("application-autoscaling", "ScalableDimension").enum
    assert {facts.concurrent_metric, facts.invocations_metric} <= set(
        shape("application-autoscaling", "MetricType").enum
    )


def test_statuses_in_which_an_endpoint_waits() -> None:
    statuses = shape("sagemaker", "EndpointStatus").enum
    waits = set(time_to_live_facts().statuses_that_wait)
    assert set(statuses) - waits == {"InService", "OutOfService", "Failed", "UpdateRollbackFailed"}
    assert waits - {"Deleting"} == IN_BETWEEN  # the function has its own copy: it imports nothing of llm-fleet


def test_budgets_and_rules() -> None:
    assert (budget_facts().emails.maximum or 0) + 1 == limit("budgets", "Subscribers").maximum  # one is the topic
    assert time_to_live_facts().seconds.minimum == 60 * time_to_live_facts().check_minutes
