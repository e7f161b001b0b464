"""What a template says of a load balancer: listeners, rules, target groups. Plain values, references resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition of a rule; it holds when any of its patterns matches."""

    kind: str
    """`path-pattern`, `host-header`, `http-header` or `http-request-method`."""
    patterns: tuple[str, ...]
    header: str | None = None
    """Of `http-header`: whose value is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action; `settings` are the template's own, by CloudFormation's names."""

    kind: str
    """`forward`, `fixed-response`, `redirect` or `jwt-validation`."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    target_group: str | None = None
    """Of `forward`: the target group's logical id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is done with a request that meets all conditions."""

    name: str
    """Its logical id; of a listener's default, `<listener>:default`."""
    priority: float
    conditions: tuple[Condition, ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """One port of the load balancer. The default is the last rule and has no conditions."""

    name: str
    port: int
    protocol: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """How a target group asks its targets. Times in seconds."""

    path: str
    interval: float
    timeout: float
    healthy_threshold: int
    unhealthy_threshold: int
    codes: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetGroup:
    """Where requests go. Times in seconds."""

    name: str
    health: HealthCheck
    deregistration_delay: float
    algorithm: str
    """`round_robin` or `least_outstanding_requests`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBalancer:
    """One load balancer with all that hangs on it. Times in seconds."""

    name: str
    idle_timeout: float
    drop_invalid_headers: bool
    listeners: tuple[Listener, ...]
    target_groups: Mapping[str, TargetGroup]
