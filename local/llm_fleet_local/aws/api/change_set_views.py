"""Change sets as CloudFormation's API shows them."""

import json
from typing import Any

from llm_fleet_local.aws.api.views import tag_list
from llm_fleet_local.aws.stacks.change_set import Change, ChangeSet, PropertyChange
from llm_fleet_local.aws.stacks.stack import Stack
from llm_fleet_local.aws.template.values import UNKNOWN, Marker, as_text


def change_set_view(stack: Stack, change_set: ChangeSet, changes: list[Change], *, values: bool) -> dict[str, Any]:
    """Return DescribeChangeSet's response; `values` adds property values before and after."""
    return {
        **change_set_summary(stack, change_set),
        "Parameters": [
            {"ParameterKey": item.name, "ParameterValue": "****" if item.no_echo else item.given}
            for item in change_set.target.parameters.values()
        ],
        "NotificationARNs": list(change_set.target.notification_arns),
        "RollbackConfiguration": {},
        "Capabilities": list(change_set.target.capabilities),
        "Tags": tag_list(change_set.target.tags),
        "Changes": [{"Type": "Resource", "ResourceChange": _change(change, values)} for change in changes],
        "OnStackFailure": change_set.on_stack_failure,
        "DeploymentConfig": change_set.deployment_config,
    }


def change_set_summary(stack: Stack, change_set: ChangeSet) -> dict[str, Any]:
    """Return an item of ListChangeSets."""
    return {
        "StackId": stack.stack_id,
        "StackName": stack.name,
        "ChangeSetId": change_set.change_set_id,
        "ChangeSetName": change_set.name,
        "ExecutionStatus": change_set.execution_status,
        "Status": change_set.status,
        "StatusReason": change_set.reason,
        "CreationTime": change_set.created,
        "Description": change_set.description,
        "IncludeNestedStacks": change_set.include_nested,
    }


def _change(change: Change, values: bool) -> dict[str, Any]:
    view: dict[str, Any] = {
        "Action": change.action,
        "LogicalResourceId": change.logical_id,
        "PhysicalResourceId": change.physical_id,
        "ResourceType": change.resource_type,
        "Replacement": change.replacement,
        "PolicyAction": change.policy_action,
        "Scope": list(dict.fromkeys(detail.attribute for detail in change.details)),
        "Details": [_detail(detail, values) for detail in change.details],
    }
    if values:
        view["BeforeContext"] = _context(change.before)
        view["AfterContext"] = _context(change.after)
    return view


def _detail(detail: PropertyChange, values: bool) -> dict[str, Any]:
    target: dict[str, Any] = {
        "Attribute": detail.attribute,
        "Name": detail.name,
        "RequiresRecreation": detail.recreation,
    }
    if values and detail.attribute != "Tags":
        target["Path"] = f"/{detail.attribute}/{detail.name}" if detail.name else f"/{detail.attribute}"
        target["BeforeValue"] = _value(detail.before)
        target["AfterValue"] = _value(detail.after)
        target["AttributeChangeType"] = (
            "Add" if detail.before is None else "Remove" if detail.after is None else "Modify"
        )
    return {
        "Target": target,
        "Evaluation": "Dynamic" if detail.dynamic else "Static",
        "ChangeSource": "ResourceReference" if detail.dynamic else "DirectModification",
    }


def _context(properties: Any) -> str | None:
    return None if properties is None else json.dumps({"Properties": properties}, default=_placeholder)


def _value(value: Any) -> str | None:
    if value is None:
        return None
    return json.dumps(value, default=_placeholder) if isinstance(value, (dict, list)) else as_text(value)


def _placeholder(value: Any) -> str:
    assert isinstance(value, Marker)
    return repr(UNKNOWN)
