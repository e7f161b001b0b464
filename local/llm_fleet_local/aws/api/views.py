"""Stacks, resources and events as CloudFormation's API shows them."""

import json
from typing import Any, cast

from llm_fleet_local.aws.stacks.stack import Event, Stack, StackResource


def stack_view(stack: Stack) -> dict[str, Any]:
    """Return an item of DescribeStacks."""
    definition = stack.definition
    return {
        "StackId": stack.stack_id,
        "StackName": stack.name,
        "Description": definition.live.template.description,
        "Parameters": [
            {
                "ParameterKey": parameter.name,
                "ParameterValue": "****" if parameter.no_echo else parameter.given,
                "ResolvedValue": _text(parameter.value) if parameter.from_ssm and not parameter.no_echo else None,
            }
            for parameter in definition.parameters.values()
        ],
        "CreationTime": stack.created,
        "LastUpdatedTime": stack.updated,
        "DeletionTime": stack.deleted,
        "StackStatus": stack.status,
        "StackStatusReason": stack.reason,
        "DisableRollback": stack.disable_rollback,
        "NotificationARNs": list(definition.notification_arns),
        "Capabilities": list(definition.capabilities),
        "Outputs": [
            {
                "OutputKey": output.key,
                "OutputValue": output.value,
                "Description": output.description,
                "ExportName": output.export_name,
            }
            for output in stack.outputs
        ],
        "RoleARN": definition.role_arn,
        "Tags": tag_list(definition.tags),
        "EnableTerminationProtection": stack.termination_protection,
        "ParentId": stack.parent_id,
        "RootId": stack.root_id,
        "DriftInformation": {"StackDriftStatus": "NOT_CHECKED"},
    }


def stack_summary(stack: Stack) -> dict[str, Any]:
    """Return an item of ListStacks."""
    return {
        "StackId": stack.stack_id,
        "StackName": stack.name,
        "TemplateDescription": stack.definition.live.template.description,
        "CreationTime": stack.created,
        "LastUpdatedTime": stack.updated,
        "DeletionTime": stack.deleted,
        "StackStatus": stack.status,
        "StackStatusReason": stack.reason,
        "ParentId": stack.parent_id,
        "RootId": stack.root_id,
    }


def resource_view(stack: Stack, resource: StackResource) -> dict[str, Any]:
    """Return an item of DescribeStackResources."""
    return {
        "StackName": stack.name,
        "StackId": stack.stack_id,
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id or None,
        "ResourceType": resource.resource_type,
        "Timestamp": resource.changed,
        "ResourceStatus": resource.status,
        "ResourceStatusReason": resource.reason,
    }


def resource_detail(stack: Stack, resource: StackResource) -> dict[str, Any]:
    """Return DescribeStackResource's detail."""
    view = resource_view(stack, resource)
    view["LastUpdatedTimestamp"] = view.pop("Timestamp")
    return {**view, "Metadata": json.dumps(resource.metadata) if resource.metadata else None}


def resource_summary(resource: StackResource) -> dict[str, Any]:
    """Return an item of ListStackResources."""
    return {
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id or None,
        "ResourceType": resource.resource_type,
        "LastUpdatedTimestamp": resource.changed,
        "ResourceStatus": resource.status,
        "ResourceStatusReason": resource.reason,
    }


def event_view(stack: Stack, event: Event) -> dict[str, Any]:
    """Return an item of DescribeStackEvents."""
    return {
        "StackId": stack.stack_id,
        "EventId": event.event_id,
        "StackName": stack.name,
        "OperationId": event.operation_id,
        "LogicalResourceId": event.logical_id,
        "PhysicalResourceId": event.physical_id,
        "ResourceType": event.resource_type,
        "Timestamp": event.timestamp,
        "ResourceStatus": event.status,
        "ResourceStatusReason": event.reason,
        "ClientRequestToken": event.token,
    }


def operation_event(stack: Stack, event: Event) -> dict[str, Any]:
    """Return an item of DescribeEvents about a resource."""
    view = event_view(stack, event)
    del view["StackName"]
    return {**view, "EventType": "STACK_EVENT"}


def tag_list(tags: Any) -> list[dict[str, str]]:
    """Return tags as the API lists them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _text(value: Any) -> str:
    return ",".join(cast("list[str]", value)) if isinstance(value, list) else str(value)
