"""The API's operations on stacks, their resources and events."""

from collections.abc import Mapping
from typing import Any

from llm_fleet_local.aws.api.paging import page, with_token
from llm_fleet_local.aws.api.requests import proposal
from llm_fleet_local.aws.api.views import (
    event_view,
    operation_event,
    resource_detail,
    resource_summary,
    resource_view,
    stack_summary,
    stack_view,
)
from llm_fleet_local.aws.stacks.change_set_work import find_change_set
from llm_fleet_local.aws.stacks.engine import CloudFormation
from llm_fleet_local.aws.stacks.errors import invalid, no_stack_called, no_stack_quoted
from llm_fleet_local.aws.stacks.stack import Stack

Params = Mapping[str, Any]


def create_stack(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """CreateStack.

    Source: model botocore cloudformation OnFailure ("either OnFailure or DisableRollback, but not both")
    """
    if "DisableRollback" in params and "OnFailure" in params:
        raise invalid("Either DisableRollback or OnFailure may be specified, but not both.")
    on_failure = "DO_NOTHING" if params.get("DisableRollback") else params.get("OnFailure", "ROLLBACK")
    stack = engine.create_stack(
        region,
        params["StackName"],
        proposal(engine, region, params, None),
        on_failure=on_failure,
        termination_protection=params.get("EnableTerminationProtection", False),
        token=params.get("ClientRequestToken"),
    )
    return {"StackId": stack.stack_id}


def update_stack(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """UpdateStack.

    Source: recorded localstack/localstack api/test_stacks test_update_stack_with_same_template_withoutchange
    (2024-05-07)
    """
    stack = engine.get(region, params["StackName"])
    engine.check_updatable(stack)
    started = engine.update_stack(
        region,
        stack.stack_id,
        proposal(engine, region, params, stack),
        rollback=not params.get("DisableRollback", False),
        token=params.get("ClientRequestToken"),
    )
    if not started:
        raise invalid("No updates are to be performed.")
    return {"StackId": stack.stack_id}


def delete_stack(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """DeleteStack."""
    engine.delete_stack(
        region,
        params["StackName"],
        retain=params.get("RetainResources", ()),
        force=params.get("DeletionMode") == "FORCE_DELETE_STACK",
        token=params.get("ClientRequestToken"),
    )
    return {}


def describe_stacks(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """DescribeStacks."""
    if params.get("StackName"):
        return {"Stacks": [stack_view(engine.get(region, params["StackName"]))]}
    stacks, token = page(engine.registry.living(region), params.get("NextToken"), key=_stack_id)
    return with_token({"Stacks": [stack_view(stack) for stack in stacks]}, token)


def list_stacks(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """ListStacks."""
    wanted = params.get("StackStatusFilter")
    stacks = [stack for stack in engine.registry.all(region) if not wanted or stack.status in wanted]
    chosen, token = page(stacks, params.get("NextToken"), key=_stack_id)
    return with_token({"StackSummaries": [stack_summary(stack) for stack in chosen]}, token)


def describe_stack_events(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """DescribeStackEvents: newest first."""
    stack = engine.get(region, params["StackName"], absent=no_stack_called)
    events, token = page(list(reversed(stack.events)), params.get("NextToken"), key=lambda event: event.event_id)
    return with_token({"StackEvents": [event_view(stack, event) for event in events]}, token)


def describe_events(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """DescribeEvents: of a change set, the errors of its template; of a stack, its history.

    Source: model botocore cloudformation DescribeEvents ("One of ChangeSetName, OperationId or StackName")
    Source: emulation, an operation is searched in its stack
    """
    if params.get("ChangeSetName"):
        stack, change_set = find_change_set(engine, region, params["ChangeSetName"], params.get("StackName"))
        views = [
            {
                "EventId": f"{change_set.name}-validation-{number}",
                "StackId": stack.stack_id,
                "EventType": "VALIDATION_ERROR",
                "LogicalResourceId": finding.logical_id or stack.name,
                "ResourceType": finding.resource_type or None,
                "Timestamp": change_set.created,
                "ValidationName": "TEMPLATE",
                "ValidationStatus": "FAILED",
                "ValidationFailureMode": "FAIL",
                "ValidationStatusReason": finding.message,
                "ValidationPath": finding.path,
            }
            for number, finding in enumerate(change_set.findings)
        ]
    else:
        if not params.get("StackName"):
            raise invalid("Either StackName or ChangeSetName must be given")
        stack = engine.get(region, params["StackName"])
        only_failed = params.get("Filters", {}).get("FailedEvents", False)
        views = [
            operation_event(stack, event)
            for event in reversed(list(stack.events))
            if params.get("OperationId") in (None, event.operation_id)
            and (event.status.endswith("_FAILED") or not only_failed)
        ]
    chosen, token = page(views, params.get("NextToken"), key=lambda view: str(view["EventId"]))
    return with_token({"OperationEvents": chosen}, token)


def describe_stack_resources(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """DescribeStackResources: of a stack, or of the stack that owns a physical id.

    Source: model botocore cloudformation DescribeStackResources ("A ValidationError is returned if you specify both")
    """
    wanted = params.get("LogicalResourceId")
    if params.get("StackName") and params.get("PhysicalResourceId"):
        raise invalid("You must specify either StackName or PhysicalResourceId, but not both")
    if params.get("StackName"):
        stack = engine.get(region, params["StackName"])
    else:
        stack = _owner(engine, region, params.get("PhysicalResourceId", ""))
    return {
        "StackResources": [
            resource_view(stack, resource)
            for resource in list(stack.resources.values())
            if wanted in (None, resource.logical_id)
        ]
    }


def describe_stack_resource(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """DescribeStackResource.

    Source: recorded localstack/localstack api/test_stacks test_stack_resource_not_found (2025-01-29)
    """
    stack = engine.get(region, params["StackName"], absent=no_stack_quoted)
    resource = stack.resources.get(params["LogicalResourceId"])
    if resource is None:
        raise invalid(f"Resource {params['LogicalResourceId']} does not exist for stack {stack.name}")
    return {"StackResourceDetail": resource_detail(stack, resource)}


def list_stack_resources(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """ListStackResources."""
    stack = engine.get(region, params["StackName"])
    chosen, token = page(
        list(stack.resources.values()), params.get("NextToken"), key=lambda resource: resource.logical_id
    )
    return with_token({"StackResourceSummaries": [resource_summary(resource) for resource in chosen]}, token)


def update_termination_protection(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """UpdateTerminationProtection."""
    stack = engine.get(region, params["StackName"])
    stack.termination_protection = params["EnableTerminationProtection"]
    return {"StackId": stack.stack_id}


def list_exports(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """ListExports."""
    exports = sorted(engine.registry.exports(region).values(), key=lambda export: export.name)
    chosen, token = page(exports, params.get("NextToken"), key=lambda export: export.name)
    views = [{"ExportingStackId": item.stack_id, "Name": item.name, "Value": item.value} for item in chosen]
    return with_token({"Exports": views}, token)


def list_imports(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """ListImports.

    Source: assumption service-error-texts
    """
    importers = engine.registry.importers(region, params["ExportName"])
    if not importers:
        raise invalid(f"Export '{params['ExportName']}' is not imported by any stack.")
    return {"Imports": importers}


def _owner(engine: CloudFormation, region: str, physical_id: str) -> Stack:
    # Source: assumption service-error-texts
    for stack in engine.registry.living(region):
        if any(resource.physical_id == physical_id for resource in list(stack.resources.values())):
            return stack
    raise invalid(f"Stack for {physical_id} does not exist")


def _stack_id(stack: Stack) -> str:
    return stack.stack_id
