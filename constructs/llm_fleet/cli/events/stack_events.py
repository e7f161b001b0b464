"""What CloudFormation tells of a stack and of those within it."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import AwsRefusal, told_of_aws
from llm_fleet.cli.events.event import Event, Level
from llm_fleet.rules.day_two.command_codes import CommandCode

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackEventTypeDef

_STACK = "AWS::CloudFormation::Stack"
_CANCELLED = "Resource creation cancelled"
"""What the others say once one has failed; it tells nothing."""


def stack_events(
    clients: AwsClients, stack: str, *, since: datetime | None = None, everything: bool = False
) -> list[Event]:
    """Return what failed in a stack by name or id, nested ones too; with `everything` what did not fail as well.

    Of the last deployment only, unless `since` says how far back. None where there is no such stack. Raises
    `AwsRefusal`.
    """
    found: list[Event] = []
    for event in _of_stack(clients, stack, since):
        status = event.get("ResourceStatus", "")
        failed = "FAILED" in status or "ROLLBACK_IN_PROGRESS" in status
        if (failed and _CANCELLED not in event.get("ResourceStatusReason", "")) or everything:
            found.append(_event(event, failed=failed))
        nested = event.get("PhysicalResourceId", "")
        if failed and event.get("ResourceType") == _STACK and nested.startswith("arn:") and nested != event["StackId"]:
            found += stack_events(clients, nested, since=since, everything=everything)
    return list({event.key: event for event in found}.values())


def _of_stack(clients: AwsClients, stack: str, since: datetime | None) -> "Iterator[StackEventTypeDef]":
    """Yield the events, the newest first, back to where the last deployment began or to `since`."""
    try:
        with told_of_aws(f"stack {stack}"):
            for page in clients.cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack):
                for event in page["StackEvents"]:
                    if since and event["Timestamp"] < since:
                        return
                    yield event
                    if since is None and _begins(event):
                        return
    except AwsRefusal as refused:
        if refused.code is not CommandCode.GONE:
            raise


def _begins(event: "StackEventTypeDef") -> bool:
    """Whether a deployment begins with it: the stack's own first event, which is not a rollback's."""
    of_stack = event.get("PhysicalResourceId") == event["StackId"]
    return of_stack and event.get("ResourceStatus") in (
        "CREATE_IN_PROGRESS",
        "UPDATE_IN_PROGRESS",
        "DELETE_IN_PROGRESS",
    )


def _event(told: "StackEventTypeDef", *, failed: bool) -> Event:
    return Event(
        time=told["Timestamp"],
        level=Level.ERROR if failed else Level.INFO,
        source="CloudFormation",
        about=f"{told['StackName']}/{told.get('LogicalResourceId', '')}",
        what=f"{told.get('ResourceType', '')} {told.get('ResourceStatus', '')}".strip(),
        failure=told.get("ResourceStatusReason"),
        key=told["EventId"],
    )
