"""Nested stacks as a resource type, added to the provider of all other types."""

import secrets
from collections.abc import Mapping
from typing import Any, cast

from llm_fleet_local.aws.execution_roles import require
from llm_fleet_local.aws.parallelcluster.provider_template import NEEDED_CAPABILITY, is_provider_url
from llm_fleet_local.aws.resource_provider import (
    Created,
    Level,
    PredictsReplacements,
    Request,
    ResourceFailed,
    ResourceProvider,
)
from llm_fleet_local.aws.stacks.engine import CloudFormation
from llm_fleet_local.aws.stacks.proposal import Proposal
from llm_fleet_local.aws.stacks.stack import STACK_TYPE, Stack
from llm_fleet_local.aws.template.values import TemplateError, as_text

_PROPERTIES = frozenset(("TemplateURL", "Parameters", "Tags", "NotificationARNs", "TimeoutInMinutes"))
_CAPABILITIES = ("CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND")


class WithNestedStacks:
    """A `ResourceProvider` that adds `AWS::CloudFormation::Stack` to the types of another one.

    Source: model CloudFormation AWS::CloudFormation::Stack
    Source: recorded serverless/serverless#7593, text for a nested stack that could not be created (2020-04-20)
    """

    def __init__(self, others: ResourceProvider, engine: CloudFormation) -> None:
        """Use `others` for all other types, and `engine` for nested stacks."""
        self._others = others
        self._engine = engine

    def check(self, resource_type: str, properties_unresolved: Mapping[str, Any]) -> list[str]:
        """See `ResourceProvider.check`."""
        if resource_type != STACK_TYPE:
            return self._others.check(resource_type, properties_unresolved)
        unknown = sorted(set(properties_unresolved) - _PROPERTIES)
        missing = [] if "TemplateURL" in properties_unresolved else ["TemplateURL is required"]
        return [*missing, *(f"unknown property {name}; allowed: {sorted(_PROPERTIES)}" for name in unknown)]

    def attribute_names(self, resource_type: str) -> frozenset[str] | None:
        """See `ResourceProvider.attribute_names`."""
        return frozenset(("Outputs.*",)) if resource_type == STACK_TYPE else self._others.attribute_names(resource_type)

    def replacing(self, resource_type: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
        """See `PredictsReplacements.replacing`."""
        if resource_type == STACK_TYPE or not isinstance(self._others, PredictsReplacements):
            return frozenset()
        return self._others.replacing(resource_type, before, after)

    def create(self, request: Request) -> Created:
        """Create the nested stack and wait for it."""
        if request.resource_type != STACK_TYPE:
            return self._others.create(request)
        name = f"{request.stack_name}-{request.logical_id}"[:115] + f"-{secrets.token_hex(6).upper()}"
        require("cloudformation:CreateStack", _stack_arn(request, name), region=request.region)
        parent = self._engine.get(request.region, request.stack_id)
        _reject_unacknowledged(request, parent)
        try:
            stack = self._engine.create_stack(
                request.region, name, self._proposal(request), parent=parent, in_background=False
            )
        except TemplateError as error:
            raise ResourceFailed(f"Embedded stack {name} was not successfully created: {error}") from error
        if stack.status != "CREATE_COMPLETE":
            reason = self._why(stack)
            self._engine.delete_stack(request.region, stack.stack_id, in_background=False)
            raise ResourceFailed(f"Embedded stack {stack.stack_id} was not successfully created: {reason}")
        return self._created(stack)

    def update(self, request: Request) -> Created:
        """Update the nested stack and wait for it; without changes nothing is done."""
        if request.resource_type != STACK_TYPE:
            return self._others.update(request)
        require("cloudformation:UpdateStack", request.physical_id or "", region=request.region)
        stack = self._engine.get(request.region, request.physical_id or "")
        _reject_unacknowledged(request, self._engine.get(request.region, request.stack_id))
        try:
            changed = self._engine.update_stack(
                request.region, stack.stack_id, self._proposal(request), in_background=False
            )
        except TemplateError as error:
            raise ResourceFailed(f"Embedded stack {stack.stack_id} was not successfully updated: {error}") from error
        if changed and stack.status != "UPDATE_COMPLETE":
            raise ResourceFailed(f"Embedded stack {stack.stack_id} was not successfully updated: {self._why(stack)}")
        return self._created(stack)

    def delete(self, request: Request) -> None:
        """Delete the nested stack and wait for it."""
        if request.resource_type != STACK_TYPE:
            self._others.delete(request)
            return
        require("cloudformation:DeleteStack", request.physical_id or "", region=request.region)
        stack = self._engine.get(request.region, request.physical_id or "")
        self._engine.delete_stack(request.region, stack.stack_id, in_background=False)
        if stack.status != "DELETE_COMPLETE":
            raise ResourceFailed(f"Embedded stack {stack.stack_id} was not successfully deleted: {self._why(stack)}")

    def exists(self, resource_type: str, physical_id: str) -> bool:
        """See `ResourceProvider.exists`."""
        if resource_type != STACK_TYPE:
            return self._others.exists(resource_type, physical_id)
        region = physical_id.split(":")[3]
        stack = self._engine.registry.find(region, physical_id)
        return stack is not None and stack.status != "DELETE_COMPLETE"

    def _proposal(self, request: Request) -> Proposal:
        properties = request.properties
        arns: list[str] = properties.get("NotificationARNs", [])
        own = {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}
        return Proposal(
            body=self._engine.lookups.object_text(properties["TemplateURL"], request.region),
            parameters={
                name: ",".join(map(as_text, cast("list[Any]", value))) if isinstance(value, list) else as_text(value)
                for name, value in properties.get("Parameters", {}).items()
            },
            tags={**{key: value for key, value in request.tags.items() if not key.startswith("aws:")}, **own},
            capabilities=_CAPABILITIES,
            notification_arns=tuple(arns),
        )

    def _created(self, stack: Stack) -> Created:
        return Created(
            physical_id=stack.stack_id,
            attributes={f"Outputs.{output.key}": output.value for output in stack.outputs},
            level=Level.API,
            notes=tuple(dict.fromkeys(note for one in stack.resources.values() for note in one.notes)),
        )

    def _why(self, stack: Stack) -> str:
        failed = [event for event in stack.events if event.status.endswith("_FAILED") and event.reason]
        first = failed[0] if failed else None
        return f"{first.logical_id}: {first.reason}" if first else stack.reason or stack.status


def _stack_arn(request: Request, name: str) -> str:
    return f"{request.stack_id.partition(':stack/')[0]}:stack/{name}/new"


def _reject_unacknowledged(request: Request, parent: Stack) -> None:
    """Reject a template with a transform if the parent's deployment did not acknowledge the capability.

    Source: model botocore cloudformation InsufficientCapabilitiesException
    Source: recorded localstack/localstack test_template_engine test_capabilities_requirements (2023-01-30)
    """
    if is_provider_url(str(request.properties["TemplateURL"])) and NEEDED_CAPABILITY not in parent.acknowledged:
        raise ResourceFailed(f"Requires capabilities : [{NEEDED_CAPABILITY}]")
