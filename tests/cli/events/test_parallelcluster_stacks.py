"""Which stacks are a cluster's own: those that are there, else the one that was deleted last."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from llm_fleet.cli.events.parallelcluster_stacks import cluster_stacks

TAGS = [{"Key": "parallelcluster:version", "Value": "3.16.1"}]


def clients(there: list[Any], deleted: list[Any]) -> Any:
    pages: dict[str, Any] = {"describe_stacks": [{"Stacks": there}], "list_stacks": [{"StackSummaries": deleted}]}

    def get_paginator(operation: str) -> Any:
        def paginate(**_: Any) -> Any:
            return pages[operation]

        return SimpleNamespace(paginate=paginate)

    return SimpleNamespace(cloudformation=SimpleNamespace(get_paginator=get_paginator))


def stack(name: str, number: int, tags: list[Any] | None = None) -> dict[str, Any]:
    made = datetime(2026, 11, number, tzinfo=UTC)
    return {"StackName": name, "StackId": f"{name}/{number}", "Tags": tags or [], "CreationTime": made}


def test_those_that_are_there_with_and_without_a_hash() -> None:
    there = [stack("pc-0123abcd", 1, TAGS), stack("pc-89abcdef", 2, TAGS), stack("pc-other", 3, TAGS), stack("pc", 4)]
    assert cluster_stacks(clients(there, []), "pc") == ["pc-0123abcd/1", "pc-89abcdef/2"]


def test_a_cluster_that_was_rolled_back_and_deleted() -> None:
    deleted = [stack("pc-0123abcd", 1), stack("pc-0123abcd", 5), stack("fleet-pc", 9)]
    assert cluster_stacks(clients([stack("fleet-pc", 9)], deleted), "pc") == ["pc-0123abcd/5"]
    assert cluster_stacks(clients([], []), "pc") == []
