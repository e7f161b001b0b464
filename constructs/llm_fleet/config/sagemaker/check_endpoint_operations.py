"""The operations of an endpoint of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from llm_fleet.config.sagemaker.endpoint_alarms import EndpointAlarmsConfig
from llm_fleet.config.sagemaker.endpoint_budget import EndpointBudgetConfig
from llm_fleet.config.sagemaker.endpoint_data_capture import EndpointDataCaptureConfig
from llm_fleet.config.sagemaker.endpoint_rollout import EndpointRolloutConfig
from llm_fleet.config.sagemaker.endpoint_scaling import EndpointScalingConfig
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.endpoint_alarms import check_endpoint_thresholds
from llm_fleet.rules.sagemaker.endpoint_budget import check_budget
from llm_fleet.rules.sagemaker.endpoint_capture import check_data_capture
from llm_fleet.rules.sagemaker.endpoint_lifetime import check_time_to_live
from llm_fleet.rules.sagemaker.endpoint_operations import check_operations
from llm_fleet.rules.sagemaker.endpoint_rollout import check_rollout
from llm_fleet.rules.sagemaker.endpoint_scaling import check_endpoint_scaling


class OperatedEndpoint(Protocol):
    """What of an endpoint in a fleet file tells of its operations (`EndpointConfig`)."""

    @property
    def instance_type(self) -> str:
        """On what it runs."""
        ...

    @property
    def instance_count(self) -> int:
        """On how many."""
        ...

    @property
    def data_capture(self) -> EndpointDataCaptureConfig | None:
        """What is kept."""
        ...

    @property
    def scaling(self) -> EndpointScalingConfig | None:
        """How it scales."""
        ...

    @property
    def rollout(self) -> EndpointRolloutConfig:
        """How updates reach it."""
        ...

    @property
    def time_to_live_seconds(self) -> int | None:
        """How long it lives."""
        ...

    @property
    def budget(self) -> EndpointBudgetConfig | None:
        """What it may cost."""
        ...

    @property
    def alarms(self) -> EndpointAlarmsConfig:
        """Who is called."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operations:
    scaling: EndpointScalingConfig | None
    rollout: EndpointRolloutConfig
    budget: EndpointBudgetConfig | None
    alarm_topic: str | None


def check_endpoint_operations(endpoint: OperatedEndpoint) -> Iterator[Problem]:
    """Return what is wrong with the operations of `endpoint`, by its attributes: parts, then how they fit."""
    found = list(_check_parts(endpoint))
    yield from found
    wrong = {problem.path[0] for problem in found}
    operations = _Operations(
        scaling=endpoint.scaling,
        rollout=endpoint.rollout,
        budget=endpoint.budget,
        alarm_topic=endpoint.alarms.topic_arn,
    )
    fitting = check_operations(operations, instance_type=endpoint.instance_type, instance_count=endpoint.instance_count)
    yield from (problem for problem in fitting if problem.path[0] not in wrong)


def _check_parts(endpoint: OperatedEndpoint) -> Iterator[Problem]:
    if endpoint.data_capture is not None:
        yield from (problem.under("data_capture") for problem in check_data_capture(endpoint.data_capture))
    if endpoint.scaling is not None:
        yield from (problem.under("scaling") for problem in check_endpoint_scaling(endpoint.scaling))
    yield from (problem.under("rollout") for problem in check_rollout(endpoint.rollout))
    if endpoint.time_to_live_seconds is not None:
        yield from check_time_to_live(endpoint.time_to_live_seconds, "time_to_live_seconds")
    if endpoint.budget is not None:
        yield from (problem.under("budget") for problem in check_budget(endpoint.budget))
    yield from (problem.under("alarms") for problem in check_endpoint_thresholds(endpoint.alarms))
