"""Resolves names in one stack: parameters, pseudo parameters, resources, other stacks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llm_fleet_local.aws.stacks.registry import Registry
from llm_fleet_local.aws.stacks.stack import Stack, StackResource
from llm_fleet_local.aws.template.document import Template
from llm_fleet_local.aws.template.lookups import Lookups
from llm_fleet_local.aws.template.parameters import Parameter
from llm_fleet_local.aws.template.values import UNKNOWN, TemplateError

_PARTITIONS = {"cn-": ("aws-cn", "amazonaws.com.cn"), "us-gov-": ("aws-us-gov", "amazonaws.com")}


def partition_of(region: str) -> tuple[str, str]:
    """Return the partition of a region and its URL suffix."""
    return next((found for prefix, found in _PARTITIONS.items() if region.startswith(prefix)), ("aws", "amazonaws.com"))


@dataclass(slots=True, kw_only=True)
class StackScope:
    """Implements `template.functions.Scope` for a stack."""

    stack: Stack
    template: Template
    registry: Registry
    lookups: Lookups
    parameters: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])
    conditions: Mapping[str, bool] = field(default_factory=dict[str, bool])
    notification_arns: tuple[str, ...] = ()
    resources: Mapping[str, StackResource] = field(default_factory=dict[str, StackResource])
    new: set[str] = field(default_factory=set[str])
    """Resources that a plan creates or replaces: neither id nor attributes are known yet."""
    changed: set[str] = field(default_factory=set[str])
    """Resources that a plan changes in place: their attributes are not known yet."""
    imports: set[str] = field(default_factory=set[str])
    """The exports in use, filled during evaluation."""

    def ref(self, name: str) -> Any:
        """Return a parameter, a pseudo parameter or a physical id."""
        if name.startswith("AWS::"):
            return self._pseudo(name)
        if name in self.parameters:
            return self.parameters[name].value
        if name in self.new:
            return UNKNOWN
        return self._resource(name).physical_id

    def attribute(self, logical_id: str, name: str) -> Any:
        """Return an attribute of a resource that exists.

        Source: recorded localstack/localstack engine/test_attributes test_invalid_getatt_fails (2023-08-01)
        """
        if logical_id in self.new or logical_id in self.changed:
            return UNKNOWN
        resource = self._resource(logical_id)
        if name not in resource.attributes:
            known = ", ".join(sorted(resource.attributes)) or "(none)"
            raise TemplateError(f"{logical_id} ({resource.resource_type}) has no attribute {name}; it has {known}")
        return resource.attributes[name]

    def condition(self, name: str) -> bool:
        """Return whether a condition of the template is true."""
        # Source: recorded localstack/localstack test_change_set_conditions test_missing_condition (2025-10-08)
        if name not in self.conditions:
            raise TemplateError(f"Template error: condition {name} is not declared")
        return self.conditions[name]

    def in_mapping(self, name: str, first: str, second: str) -> Any:
        """Return a value of the Mappings section."""
        return self.template.mappings[name][first][second]

    def imported(self, export_name: str) -> Any:
        """Return another stack's export, and record that it is in use.

        Source: recorded aws-cloudformation/aws-cloudformation-templates#263, text of the error (2020-04-27)
        Source: emulation, an export that is missing is reported by the change set and not only when it is executed, as
        localstack/localstack test_change_set_exports_imports recorded it of AWS (2025-08-05)
        """
        export = self.registry.exports(self.stack.region).get(export_name)
        if export is None:
            raise TemplateError(f"No export named {export_name} found.")
        self.imports.add(export_name)
        return export.value

    def stack_output(self, stack_name: str, output_name: str, region: str | None) -> Any:
        """Return another stack's output. Nothing is recorded: a weak reference does not block the other stack.

        Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-getstackoutput.html
        (2026-11)
        """
        where = region or self.stack.region
        other = self.registry.find(where, stack_name)
        if other is None:
            raise TemplateError(f"Fn::GetStackOutput: stack {stack_name} does not exist in {where}")
        value = next((output.value for output in other.outputs if output.key == output_name), None)
        if value is None:
            raise TemplateError(f"Fn::GetStackOutput: stack {stack_name} has no output {output_name}")
        return value

    def availability_zones(self, region: str) -> list[str]:
        """Return the zones of `region`, or of the stack's own region."""
        return self.lookups.availability_zones(region or self.stack.region)

    def _resource(self, logical_id: str) -> StackResource:
        # Source: recorded localstack/localstack engine/test_references test_useful_error_when_invalid_ref (2024-05-28)
        if logical_id not in self.resources:
            raise TemplateError(
                f"Template error: {logical_id} is neither a parameter nor an existing resource of this stack"
            )
        return self.resources[logical_id]

    def _pseudo(self, name: str) -> Any:
        # Source: document
        # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/pseudo-parameter-reference.html:
        # "Available pseudo parameters"
        partition, suffix = partition_of(self.stack.region)
        values = {
            "AWS::AccountId": self.stack.account,
            "AWS::NotificationARNs": list(self.notification_arns),
            "AWS::Partition": partition,
            "AWS::Region": self.stack.region,
            "AWS::StackId": self.stack.stack_id,
            "AWS::StackName": self.stack.name,
            "AWS::URLSuffix": suffix,
        }
        if name not in values:
            raise TemplateError(f"Template error: unknown pseudo parameter {name}; allowed: {', '.join(values)}")
        return values[name]
