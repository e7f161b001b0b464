"""Reads a load balancer from a template. What the proxy does not do is refused by name, never passed over."""

from collections.abc import Mapping
from typing import Any

from llm_fleet_local.serving.template.front import (
    Action,
    Condition,
    HealthCheck,
    Listener,
    LoadBalancer,
    Rule,
    TargetGroup,
)
from llm_fleet_local.serving.template.problem import NotServable
from llm_fleet_local.serving.template.reader import TemplateReader

_TYPE = "AWS::ElasticLoadBalancingV2::"
_CONFIGS = {
    "path-pattern": "PathPatternConfig",
    "host-header": "HostHeaderConfig",
    "http-header": "HttpHeaderConfig",
    "http-request-method": "HttpRequestMethodConfig",
}
_ACTIONS = {
    "forward": "ForwardConfig",
    "fixed-response": "FixedResponseConfig",
    "redirect": "RedirectConfig",
    "jwt-validation": "JwtValidationConfig",
}
_ALGORITHMS = ("round_robin", "least_outstanding_requests")
_OFF = {"stickiness.enabled": "false", "slow_start.duration_seconds": "0"}
"""Attributes of target groups that the proxy can only have switched off."""


def read_front(reader: TemplateReader, target_group: str) -> LoadBalancer:
    """Return the load balancer that forwards to `target_group`. Raises `NotServable`."""
    groups = {name: _target_group(name, body) for name, body in reader.of_type(f"{_TYPE}TargetGroup").items()}
    listeners = reader.of_type(f"{_TYPE}Listener")
    rules = reader.of_type(f"{_TYPE}ListenerRule")
    for name, body in reader.of_type(f"{_TYPE}LoadBalancer").items():
        own = tuple(
            _listener(key, listener, rules)
            for key, listener in listeners.items()
            if listener["LoadBalancerArn"] == name
        )
        if any(action.target_group == target_group for rule in _rules(own) for action in rule.actions):
            return _load_balancer(name, body, own, groups)
    raise NotServable(f"no listener of a load balancer forwards to target group {target_group}")


def _rules(listeners: tuple[Listener, ...]) -> list[Rule]:
    return [rule for listener in listeners for rule in listener.rules]


def _load_balancer(
    name: str, body: Mapping[str, Any], listeners: tuple[Listener, ...], groups: Mapping[str, TargetGroup]
) -> LoadBalancer:
    if body.get("Type", "application") != "application":
        raise NotServable(f"load balancer {name} has type {body['Type']}; only application load balancers are emulated")
    attributes = {item["Key"]: str(item["Value"]) for item in body.get("LoadBalancerAttributes", [])}
    return LoadBalancer(
        name=name,
        idle_timeout=float(attributes.get("idle_timeout.timeout_seconds", 60)),
        drop_invalid_headers=attributes.get("routing.http.drop_invalid_header_fields.enabled", "false") == "true",
        listeners=listeners,
        target_groups=groups,
    )


def _listener(name: str, body: Mapping[str, Any], rules: Mapping[str, Mapping[str, Any]]) -> Listener:
    own = [_rule(key, rule) for key, rule in rules.items() if rule["ListenerArn"] == name]
    last = Rule(
        name=f"{name}:default",
        priority=float("inf"),
        conditions=(),
        actions=_actions(name, body["DefaultActions"]),
    )
    return Listener(
        name=name,
        port=int(body["Port"]),
        protocol=body["Protocol"],
        rules=(*sorted(own, key=lambda rule: rule.priority), last),
    )


def _rule(name: str, body: Mapping[str, Any]) -> Rule:
    if body.get("Transforms"):
        raise NotServable(f"rule {name} has transforms, which the proxy does not do")
    return Rule(
        name=name,
        priority=float(body["Priority"]),
        conditions=tuple(_condition(name, item) for item in body["Conditions"]),
        actions=_actions(name, body["Actions"]),
    )


def _condition(rule: str, body: Mapping[str, Any]) -> Condition:
    kind = body["Field"]
    if kind not in _CONFIGS:
        raise NotServable(f"rule {rule} has a condition on {kind}; the proxy knows {', '.join(_CONFIGS)}")
    config = body.get(_CONFIGS[kind], {})
    if "RegexValues" in body or "RegexValues" in config:
        raise NotServable(f"rule {rule} matches {kind} by regular expressions, which the proxy does not do")
    return Condition(
        kind=kind,
        patterns=tuple(config.get("Values", body.get("Values", ()))),
        header=config.get("HttpHeaderName"),
    )


def _actions(rule: str, bodies: list[Mapping[str, Any]]) -> tuple[Action, ...]:
    return tuple(_action(rule, body) for body in sorted(bodies, key=lambda body: int(body.get("Order", 1))))


def _action(rule: str, body: Mapping[str, Any]) -> Action:
    kind = body["Type"]
    if kind not in _ACTIONS:
        raise NotServable(f"rule {rule} has the action {kind}; the proxy knows {', '.join(_ACTIONS)}")
    config = body.get(_ACTIONS[kind], {})
    return Action(kind=kind, settings=config, target_group=_forwarded(rule, body) if kind == "forward" else None)


def _forwarded(rule: str, body: Mapping[str, Any]) -> str:
    groups = {item["TargetGroupArn"] for item in body.get("ForwardConfig", {}).get("TargetGroups", [])}
    groups |= {body["TargetGroupArn"]} if "TargetGroupArn" in body else set[str]()
    if len(groups) != 1:
        raise NotServable(f"rule {rule} forwards to {len(groups)} target groups; the proxy forwards to one")
    return str(groups.pop())


def _target_group(name: str, body: Mapping[str, Any]) -> TargetGroup:
    attributes = {item["Key"]: str(item["Value"]) for item in body.get("TargetGroupAttributes", [])}
    algorithm = attributes.get("load_balancing.algorithm.type", "round_robin")
    if algorithm not in _ALGORITHMS:
        raise NotServable(f"target group {name} balances by {algorithm}; the proxy knows {', '.join(_ALGORITHMS)}")
    for key, off in _OFF.items():
        if attributes.get(key, off) != off:
            raise NotServable(f"target group {name} has {key} = {attributes[key]}, which the proxy does not do")
    if body.get("TargetControlPort"):
        raise NotServable(f"target group {name} uses the target optimizer, which the proxy does not do")
    if body.get("TargetType") != "ip":
        raise NotServable(f"target group {name} has targets of type {body.get('TargetType', 'instance')}, not ip")
    return TargetGroup(
        name=name,
        health=_health(body),
        deregistration_delay=float(attributes.get("deregistration_delay.timeout_seconds", 300)),
        algorithm=algorithm,
    )


def _health(body: Mapping[str, Any]) -> HealthCheck:
    return HealthCheck(
        path=body.get("HealthCheckPath", "/"),
        interval=float(body.get("HealthCheckIntervalSeconds", 30)),
        timeout=float(body.get("HealthCheckTimeoutSeconds", 5)),
        healthy_threshold=int(body.get("HealthyThresholdCount", 5)),
        unhealthy_threshold=int(body.get("UnhealthyThresholdCount", 2)),
        codes=_codes(str(body.get("Matcher", {}).get("HttpCode", "200"))),
    )


def _codes(text: str) -> frozenset[int]:
    """`200`, `200,202` and `200-299`, as a matcher writes them."""
    codes: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        codes |= set(range(int(first), int(last or first) + 1))
    return frozenset(codes)
