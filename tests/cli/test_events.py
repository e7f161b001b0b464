"""Events of stacks and of ParallelCluster, merged."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from llm_fleet.catalog.nodes import remedy_for
from llm_fleet.cli.events.cluster_events import Event, Level, merged
from llm_fleet.cli.events.collected_events import cluster_stacks, stack_events

START = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)


def cluster_event(seconds: float, *, about: str = "i-1", failure: str | None = None) -> Event:
    time = START + timedelta(seconds=seconds)
    return Event(time=time, level=Level.ERROR, source="HyperPod", about=about, what="failed", failure=failure)


def test_a_pair_of_events_is_merged_with_its_message() -> None:
    (one,) = merged([cluster_event(2), cluster_event(0, failure="no capacity")])
    assert (one.times, one.failure, one.time) == (2, "no capacity", START)
    (other,) = merged([cluster_event(0), cluster_event(2, failure="no capacity")])
    assert (other.times, other.failure) == (2, "no capacity")


def test_events_of_other_nodes_other_messages_and_later_events_are_separate() -> None:
    assert len(merged([cluster_event(0), cluster_event(1, about="i-2")])) == 2
    assert len(merged([cluster_event(0, failure="a"), cluster_event(1, failure="b")])) == 2
    assert len(merged([cluster_event(0), cluster_event(301)])) == 2


def test_known_failures_have_a_remedy_and_others_none() -> None:
    assert "llm-fleet logs --failed" in (remedy_for("Lifecycle scripts did not run successfully. Ensure …") or "")
    assert "security group" in (remedy_for("EFA health checks did not run successfully") or "")
    assert remedy_for("something else") is None


TAGS = [{"Key": "parallelcluster:version", "Value": "3.16.1"}]


def clients_with_clusters(there: list[Any], deleted: list[Any]) -> Any:
    pages: dict[str, Any] = {"describe_stacks": [{"Stacks": there}], "list_stacks": [{"StackSummaries": deleted}]}

    def get_paginator(operation: str) -> Any:
        def paginate(**_: Any) -> Any:
            return pages[operation]

        return SimpleNamespace(paginate=paginate)

    return SimpleNamespace(cloudformation=SimpleNamespace(get_paginator=get_paginator))


def stack(name: str, number: int, tags: list[Any] | None = None) -> dict[str, Any]:
    made = datetime(2026, 11, number, tzinfo=UTC)
    return {"StackName": name, "StackId": f"{name}/{number}", "Tags": tags or [], "CreationTime": made}


def test_existing_stacks_with_and_without_a_hash() -> None:
    there = [stack("pc-0123abcd", 1, TAGS), stack("pc-89abcdef", 2, TAGS), stack("pc-other", 3, TAGS), stack("pc", 4)]
    assert cluster_stacks(clients_with_clusters(there, []), "pc") == ["pc-0123abcd/1", "pc-89abcdef/2"]


def test_a_cluster_that_was_rolled_back_and_deleted() -> None:
    deleted = [stack("pc-0123abcd", 1), stack("pc-0123abcd", 5), stack("fleet-pc", 9)]
    assert cluster_stacks(clients_with_clusters([stack("fleet-pc", 9)], deleted), "pc") == ["pc-0123abcd/5"]
    assert cluster_stacks(clients_with_clusters([], []), "pc") == []


STACK, NESTED = "arn:aws:cloudformation:us-west-2:1:stack/pc/1", "arn:aws:cloudformation:us-west-2:1:stack/pc-Nested/2"
WAIT = "WaitCondition received failed message: 'return code: 39.'"


def stack_event(
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
        stack_event(0, "CREATE_IN_PROGRESS"),
        stack_event(1, "CREATE_FAILED", what="Old", reason="of the deployment before"),
        stack_event(10, "UPDATE_IN_PROGRESS"),
        stack_event(
            11, "CREATE_FAILED", what="Cluster", reason="Embedded stack failed", kind="AWS::CloudFormation::Stack"
        ),
        stack_event(12, "CREATE_FAILED", what="Other", reason="Resource creation cancelled"),
        stack_event(13, "CREATE_COMPLETE", what="Fine"),
    ],
    NESTED: [
        stack_event(10, "CREATE_IN_PROGRESS", of=NESTED, what="pc-Nested"),
        stack_event(11, "CREATE_FAILED", of=NESTED, what="HeadNodeWaitCondition", reason=WAIT),
    ],
}


def clients_with_stack() -> Any:
    def paginate(StackName: str) -> list[Any]:
        name = STACK if StackName == "pc" else StackName
        return [{"StackEvents": EVENTS[name][::-1]}]

    def get_paginator(operation: str) -> Any:
        assert operation == "describe_stack_events"
        return SimpleNamespace(paginate=paginate)

    return SimpleNamespace(cloudformation=SimpleNamespace(get_paginator=get_paginator))


def test_failures_are_reported_down_to_the_nested_stack() -> None:
    found = stack_events(clients_with_stack(), "pc")
    assert [one.about for one in found] == ["pc/Cluster", "pc-Nested/HeadNodeWaitCondition"]
    assert all(one.level is Level.ERROR for one in found)
    assert found[-1].failure == WAIT
    assert "39 is LFN39" in (found[-1].remedy or "")


def test_all_events_are_shown_and_since_includes_older_deployments() -> None:
    assert "pc/Fine" in [one.about for one in stack_events(clients_with_stack(), "pc", everything=True)]
    before = stack_events(clients_with_stack(), "pc", since=START)
    assert "pc/Old" in [one.about for one in before]
