"""What CloudFormation tells of a deployment that failed, nested stacks too, and only of the last one."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from llm_fleet.cli.events.event import Level
from llm_fleet.cli.events.stack_events import stack_events

START = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
STACK, NESTED = "arn:aws:cloudformation:us-west-2:1:stack/pc/1", "arn:aws:cloudformation:us-west-2:1:stack/pc-Nested/2"
WAIT = "WaitCondition received failed message: 'return code: 39.'"


def event(
    minute: int, status: str, *, of: str = STACK, what: str = "pc", reason: str = "", kind: str = "AWS::X::Y"
) -> Any:
    is_stack = what in ("pc", "pc-Nested")
    return {
        "StackId": of,
        "EventId": f"{of}/{minute}/{what}",
        "StackName": of.split("/")[1],
        "LogicalResourceId": what,
        "PhysicalResourceId": of if is_stack else (NESTED if kind.endswith("Stack") else f"id-{what}"),
        "ResourceType": kind,
        "Timestamp": START + timedelta(minutes=minute),
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
    }


EVENTS = {
    STACK: [
        event(0, "CREATE_IN_PROGRESS"),
        event(1, "CREATE_FAILED", what="Old", reason="of the time before"),
        event(10, "UPDATE_IN_PROGRESS"),
        event(11, "CREATE_FAILED", what="Cluster", reason="Embedded stack failed", kind="AWS::CloudFormation::Stack"),
        event(12, "CREATE_FAILED", what="Other", reason="Resource creation cancelled"),
        event(13, "CREATE_COMPLETE", what="Fine"),
    ],
    NESTED: [
        event(10, "CREATE_IN_PROGRESS", of=NESTED, what="pc-Nested"),
        event(11, "CREATE_FAILED", of=NESTED, what="HeadNodeWaitCondition", reason=WAIT),
    ],
}


def clients() -> Any:
    def paginate(StackName: str) -> list[Any]:
        name = STACK if StackName == "pc" else StackName
        return [{"StackEvents": EVENTS[name][::-1]}]

    def get_paginator(operation: str) -> Any:
        assert operation == "describe_stack_events"
        return SimpleNamespace(paginate=paginate)

    return SimpleNamespace(cloudformation=SimpleNamespace(get_paginator=get_paginator))


def test_failures_are_told_down_to_the_nested_stack() -> None:
    found = stack_events(clients(), "pc")
    assert [one.about for one in found] == ["pc/Cluster", "pc-Nested/HeadNodeWaitCondition"]
    assert all(one.level is Level.ERROR for one in found)
    assert found[-1].failure == WAIT
    assert "39 is LFN39" in (found[-1].remedy or "")


def test_all_of_it_and_further_back() -> None:
    assert "pc/Fine" in [one.about for one in stack_events(clients(), "pc", everything=True)]
    before = stack_events(clients(), "pc", since=START)
    assert "pc/Old" in [one.about for one in before]
