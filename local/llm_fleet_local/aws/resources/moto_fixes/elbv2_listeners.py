"""Listeners, their rules and target groups: JWT validation, certificates, ports, and one load balancer per group.

moto lacks `jwt-validation`, accepts HTTPS without a certificate and duplicate ports, drops the control port of a target
group, lets two load balancers share a group, and keeps listing a load balancer that no longer forwards to a group.
"""

from collections.abc import Iterator
from typing import Any

from moto.elbv2 import models
from moto.elbv2.exceptions import ELBClientError
from moto.elbv2.models import ELBv2Backend, FakeListener, FakeTargetGroup
from moto.elbv2.responses import ELBV2Response

from llm_fleet_local.aws.resources.moto_fixes.kept_members import before, keep_members, once

_JWT = "jwt-validation"
_SECURE_ONLY = (_JWT, "authenticate-oidc", "authenticate-cognito")
_LAST = ("forward", "redirect", "fixed-response")
_ATTRIBUTES = ("tcp.idle_timeout.seconds", "routing.http.request.", "routing.http.response.")


def install() -> None:
    """Validate listeners, rules and target groups."""
    if not once(FakeListener, "rules"):
        return
    models.ALLOWED_ACTIONS.append(_JWT)
    ELBv2Backend._validate_actions = _without_jwt(ELBv2Backend._validate_actions)  # pyright: ignore[reportPrivateUsage]
    before(ELBV2Response, "create_listener", _check_new_listener)
    before(ELBV2Response, "modify_listener", _check_changed_listener)
    before(ELBV2Response, "modify_listener_attributes", _check_attributes)
    before(ELBV2Response, "create_rule", _check_rule)
    before(ELBV2Response, "modify_rule", _check_changed_rule)
    keep_members(ELBV2Response, "create_target_group", ("TargetControlPort",), _target_group)
    FakeTargetGroup.load_balancer_arns = property(_balancers_of, lambda self, value: None)  # type: ignore[assignment]


def _without_jwt(as_moto_does: Any) -> Any:
    def _validate_actions(self: Any, actions: list[Any]) -> None:
        as_moto_does(self, [one for one in actions if one.type != _JWT])

    return _validate_actions


def _target_group(response: Any, given: Any) -> Any:
    groups = response.elbv2_backend.target_groups.values()
    return next(one for one in groups if one.name == given["Name"])


def _balancers_of(self: Any) -> "_Arns":
    """Return the load balancers that forward to a group now."""
    backend: Any = models.elbv2_backends[self.account_id][self.region_name]
    return _Arns(
        balancer.arn
        for balancer in backend.load_balancers.values()
        if any(
            self.arn in backend._get_target_group_arns_from(action.data)
            for listener in balancer.listeners.values()
            for rule in listener.rules.values()
            for action in rule.actions
        )
    )


class _Arns(list[str]):
    """A list that moto appends to, without effect: it is computed from the listeners each time."""

    def append(self, _: str, /) -> None:
        """Do nothing."""


def _check_new_listener(response: Any, given: dict[str, Any]) -> None:
    balancer = response.elbv2_backend.load_balancers.get(given["LoadBalancerArn"])
    ports = [int(one.port) for one in balancer.listeners.values()] if balancer else []
    if int(given.get("Port", 0)) in ports:
        # Source: model botocore elbv2 DuplicateListenerException
        # Source: assumption service-error-texts
        raise ELBClientError("DuplicateListener", f"A listener already exists on this port: {given['Port']}")
    _reject(_actions(given.get("DefaultActions", []), given.get("Protocol", "")))
    _check_targets(response, given.get("DefaultActions", []), given["LoadBalancerArn"])
    # Source: model botocore elbv2 CreateListenerInput (Certificates)
    # Source: recorded pulumi/pulumi-awsx#1242, text of the error (2024-03-16)
    if given.get("Protocol") == "HTTPS" and not given.get("Certificates"):
        raise ELBClientError("ValidationError", "A certificate must be specified for HTTPS listeners")
    # Source: model botocore elbv2 CreateListenerInput (Certificates, SslPolicy)
    # Source: recorded aws/aws-cdk#34232, a certificate on an HTTP listener is rejected (2025-04-23)
    # Source: assumption service-error-texts
    if given.get("Protocol") == "HTTP" and (given.get("Certificates") or given.get("SslPolicy")):
        raise ELBClientError("ValidationError", "A certificate or policy cannot be specified for HTTP listeners")


def _check_changed_listener(response: Any, given: dict[str, Any]) -> None:
    (listener,) = response.elbv2_backend.describe_listeners(None, [given["ListenerArn"]])
    _reject(_actions(given.get("DefaultActions", []), given.get("Protocol") or listener.protocol))
    _check_targets(response, given.get("DefaultActions", []), listener.load_balancer_arn)


def _check_attributes(_: Any, given: dict[str, Any]) -> None:
    unknown = [one["Key"] for one in given["Attributes"] if not one["Key"].startswith(_ATTRIBUTES)]
    if unknown:
        # Source: model botocore elbv2 ListenerAttribute
        # Source: assumption service-error-texts
        raise ELBClientError("InvalidConfigurationRequest", f"Listener attribute keys not recognized: {unknown}")


def _check_rule(response: Any, given: dict[str, Any]) -> None:
    (listener,) = response.elbv2_backend.describe_listeners(None, [given["ListenerArn"]])
    _reject([*_actions(given["Actions"], listener.protocol), *_conditions(given["Conditions"])])
    _check_targets(response, given["Actions"], listener.load_balancer_arn)


def _check_changed_rule(response: Any, given: dict[str, Any]) -> None:
    (rule,) = response.elbv2_backend.describe_rules(None, [given["RuleArn"]])
    (listener,) = response.elbv2_backend.describe_listeners(None, [rule.listener_arn])
    _reject([*_actions(given.get("Actions", []), listener.protocol), *_conditions(given.get("Conditions", []))])
    _check_targets(response, given.get("Actions", []), listener.load_balancer_arn)


def _check_targets(response: Any, actions: list[dict[str, Any]], balancer_arn: str) -> None:
    """Reject a target group of another load balancer: each group can have one, and this quota cannot be increased.

    Source: model botocore elbv2 TargetGroupAssociationLimitException
    Source: document https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
    (2026-11)
    Source: recorded aws-cloudformation/cloudformation-coverage-roadmap#780, text of the error (2021-02-12)
    """
    backend = response.elbv2_backend
    named = [arn for action in actions for arn in backend._get_target_group_arns_from(action)]
    groups = [backend.target_groups[arn] for arn in named if arn in backend.target_groups]
    taken = [group.arn for group in groups if set(group.load_balancer_arns) - {balancer_arn}]
    if taken:
        message = (
            f"The following target groups cannot be associated with more than one load balancer: {', '.join(taken)}"
        )
        raise ELBClientError("TargetGroupAssociationLimit", message)


def _actions(actions: list[dict[str, Any]], protocol: str) -> Iterator[str]:
    """Return the errors of actions: their order, and the protocol and addresses that some of them require.

    Source: model botocore elbv2 Action
    Source: model botocore elbv2 JwtValidationActionConfig
    """
    ordered = sorted(actions, key=lambda one: int(one.get("Order", 1)))
    kinds = [one["Type"] for one in ordered]
    if actions and (kinds[-1] not in _LAST or sum(kind in _LAST for kind in kinds) != 1):
        yield f"the last action, and no other, must be one of {', '.join(_LAST)}; given: {kinds}"
    if protocol != "HTTPS":
        yield from (f"action {kind} is supported for HTTPS listeners only" for kind in kinds if kind in _SECURE_ONLY)
    for one in ordered:
        if one["Type"] == _JWT and not str(one.get("JwtValidationConfig", {}).get("JwksEndpoint")).startswith("https:"):
            yield f"action {_JWT} requires a JwksEndpoint that begins with https:"


def _conditions(conditions: list[dict[str, Any]]) -> Iterator[str]:
    """Return the errors of conditions: a rule can have five values and five wildcards (one page of the guide says six).

    Source: document https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
    (2026-11)
    """
    values: list[str] = []
    for one in conditions:
        values += one.get("Values", [])
        for name, config in one.items():
            if name.endswith("Config"):
                values += [str(value) for value in config.get("Values", [])]
    if len(values) > 5:
        yield f"{len(values)} condition values; a rule can have at most 5"
    wildcards = sum(value.count("*") + value.count("?") for value in values)
    if wildcards > 5:
        yield f"{wildcards} wildcards in conditions; a rule can have at most 5"


def _reject(problems: Any) -> None:
    """Reject a listener or a rule for the errors of `_actions` and `_conditions`.

    Source: assumption service-error-texts
    """
    found = list(problems)
    if found:
        raise ELBClientError("ValidationError", "; ".join(found))
