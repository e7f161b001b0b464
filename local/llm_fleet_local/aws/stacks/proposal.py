"""Converts a client's request to a checked definition; nothing is created here.

Source: model botocore cloudformation CreateChangeSetInput
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from llm_fleet_local.aws.resource_provider import ResourceProvider
from llm_fleet_local.aws.stacks.definition import Definition
from llm_fleet_local.aws.stacks.registry import Registry
from llm_fleet_local.aws.stacks.scope import StackScope
from llm_fleet_local.aws.stacks.stack import Stack
from llm_fleet_local.aws.template.checks import check_names, check_resources
from llm_fleet_local.aws.template.conditions import broken_rules, holds
from llm_fleet_local.aws.template.document import Template, parse_template
from llm_fleet_local.aws.template.finding import Finding, TemplateRejected
from llm_fleet_local.aws.template.live import live_template
from llm_fleet_local.aws.template.lookups import Lookups
from llm_fleet_local.aws.template.parameters import resolve_parameters
from llm_fleet_local.aws.template.values import TemplateError

_NAMED_BY = {
    "AWS::IAM::Group": "GroupName",
    "AWS::IAM::InstanceProfile": "InstanceProfileName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::IAM::Role": "RoleName",
    "AWS::IAM::User": "UserName",
}
_IAM_TYPES = frozenset((*_NAMED_BY, "AWS::IAM::AccessKey", "AWS::IAM::Policy", "AWS::IAM::UserToGroupAddition"))


class CapabilityMissing(TemplateError):
    """The template requires a capability that the client did not acknowledge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A stack as a client requests it."""

    body: str
    parameters: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """`None`: unchanged."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    capabilities: tuple[str, ...] = ()
    notification_arns: tuple[str, ...] = ()
    role_arn: str | None = None


def define(
    proposal: Proposal, stack: Stack, *, provider: ResourceProvider, registry: Registry, lookups: Lookups
) -> Definition:
    """Check a proposal for `stack` and return its definition.

    Raises `TemplateRejected` with all errors, or `TemplateError` if the template cannot be parsed.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/rules-section-structure.html
    (2026-11)
    """
    template = parse_template(proposal.body)
    _reject(check_names(template, provider))
    _check_capabilities(template, proposal.capabilities)
    parameters = resolve_parameters(template.parameters, _given(proposal, stack), region=stack.region, lookups=lookups)
    scope = StackScope(
        stack=stack,
        template=template,
        registry=registry,
        lookups=lookups,
        parameters=parameters,
        notification_arns=proposal.notification_arns,
    )
    broken = broken_rules(template.rules, scope)
    if broken:
        raise TemplateError(f"Template error: {'; '.join(broken)}")
    conditions = decide_conditions(template, scope)
    live = live_template(template, conditions)
    _reject(check_resources(live, provider))
    return Definition(
        live=live,
        conditions=conditions,
        parameters=parameters,
        tags=proposal.tags,
        notification_arns=proposal.notification_arns,
        capabilities=proposal.capabilities,
        role_arn=proposal.role_arn or stack.definition.role_arn,
    )


def decide_conditions(template: Template, scope: StackScope) -> dict[str, bool]:
    """Evaluate all conditions; a condition can use another one."""
    decided: dict[str, bool] = {}
    scope.conditions = _Lazy(template, scope, decided)
    for name in template.conditions:
        decided[name] = scope.condition(name)
    scope.conditions = decided
    return decided


class _Lazy(dict[str, bool]):
    """Conditions by name, each evaluated at its first use.

    Source: assumption cloudformation-refuses-circular-conditions
    """

    def __init__(self, template: Template, scope: StackScope, decided: dict[str, bool]) -> None:
        super().__init__(dict.fromkeys(template.conditions, False))
        self._template = template
        self._scope = scope
        self._decided = decided
        self._open: list[str] = []

    def __getitem__(self, name: str) -> bool:
        if name not in self._decided:
            if name in self._open:
                raise TemplateError(f"Circular dependency between conditions: {[*self._open, name]}")
            self._open.append(name)
            self._decided[name] = holds(self._template.conditions[name], self._scope)
            self._open.pop()
        return self._decided[name]


def _given(proposal: Proposal, stack: Stack) -> dict[str, str]:
    # Source: model botocore cloudformation UsePreviousValue
    previous = stack.definition.parameters
    unknown = [name for name, value in proposal.parameters.items() if value is None and name not in previous]
    if unknown:
        raise TemplateError(f"Parameters: {unknown} have no previous value")
    return {name: previous[name].given if value is None else value for name, value in proposal.parameters.items()}


def needed_capabilities(template: Template) -> tuple[str, ...]:
    """Return what a client must acknowledge before this template is deployed."""
    makes = [resource for resource in template.resources.values() if resource.resource_type in _IAM_TYPES]
    if any(_NAMED_BY.get(resource.resource_type) in resource.properties for resource in makes):
        return ("CAPABILITY_NAMED_IAM",)
    return ("CAPABILITY_IAM",) if makes else ()


def _check_capabilities(template: Template, given: tuple[str, ...]) -> None:
    # Source: model botocore cloudformation Capabilities
    # Source: model botocore cloudformation InsufficientCapabilitiesException
    missing = [name for name in needed_capabilities(template) if not {name, "CAPABILITY_NAMED_IAM"} & set(given)]
    if missing:
        raise CapabilityMissing(f"Requires capabilities : [{', '.join(missing)}]")


def _reject(findings: list[Finding]) -> None:
    # Source: emulation, all findings are reported together, in place of CloudFormation's early validation
    if findings:
        raise TemplateRejected(findings)
