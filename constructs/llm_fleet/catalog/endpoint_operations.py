"""What the services allow around an endpoint of SageMaker: capture, scaling, rollouts, lifetime, budget, alarms."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, cast

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureFacts:
    """What is kept of requests and answers."""

    percent: Limit
    uri: Limit
    json_content_types: tuple[str, ...]
    """What is written as JSON and not as base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointScalingFacts:
    """How the number of instances follows the load."""

    instances: Limit
    cooldown_seconds: Limit
    concurrent_requests: float
    """Requests at a time and instance that scaling goes for when nobody told."""
    out_seconds: int
    in_seconds: int
    dimension: str
    concurrent_metric: str
    invocations_metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFacts:
    """How an update reaches an endpoint."""

    step_percent: Mapping[str, Limit]
    """By kind of rollout; none for what goes over all at once."""
    bake_seconds: Limit
    termination_wait_seconds: Limit
    timeout_seconds: Limit
    alarms: Limit
    default_step_percent: Mapping[str, int]
    default_bake_seconds: int
    default_termination_wait_seconds: int
    shortest_bake_seconds: int
    """What our own alarms need to ring."""
    families_without_guardrails: tuple[str, ...]
    """Families of instances that SageMaker updates all at once and without looking at alarms, whatever is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeToLiveFacts:
    """How long an endpoint may live."""

    seconds: Limit
    check_minutes: int
    """How often it is looked whether the time has come."""
    timeout_seconds: int
    """Of one such look."""
    statuses_that_wait: tuple[str, ...]
    """In which SageMaker refuses to delete an endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFacts:
    """What AWS Budgets takes."""

    service: str
    notifications: Limit
    emails: Limit
    tag: str
    """That an endpoint and its parts carry, for budgets that count it alone."""
    at_percent: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointAlarmFacts:
    """When somebody is called."""

    namespace: str
    instances_namespace: str
    server_error_percent: float
    model_latency_seconds: float
    idle_hours: int
    idle_hours_range: Limit


def _part(name: str) -> dict[str, Any]:
    """Return a part of the facts, each pair of bounds as a `Limit` and each list as a tuple."""
    return {key: _typed(value) for key, value in load("endpoint_operations")[name].items()}


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(cast(list[Any], value))
    if not isinstance(value, dict):
        return value
    facts = cast(dict[str, Any], value)
    if set(facts) <= {"minimum", "maximum"}:
        return Limit(**facts)
    return MappingProxyType({key: _typed(item) for key, item in facts.items()})


@cache
def capture_facts() -> CaptureFacts:
    """Return what is known of data capture."""
    return CaptureFacts(**_part("data_capture"))


@cache
def endpoint_scaling_facts() -> EndpointScalingFacts:
    """Return what is known of scaling."""
    return EndpointScalingFacts(**_part("scaling"))


@cache
def rollout_facts() -> RolloutFacts:
    """Return what is known of rollouts."""
    return RolloutFacts(**_part("rollout"))


@cache
def time_to_live_facts() -> TimeToLiveFacts:
    """Return what is known of lifetimes."""
    return TimeToLiveFacts(**_part("time_to_live"))


@cache
def budget_facts() -> BudgetFacts:
    """Return what is known of budgets."""
    return BudgetFacts(**_part("budget"))


@cache
def endpoint_alarm_facts() -> EndpointAlarmFacts:
    """Return the thresholds of alarms."""
    return EndpointAlarmFacts(**_part("alarms"))
