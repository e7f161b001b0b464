"""Nodes and responses of AWS for tests."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from llm_fleet.cli.nodes.node import Listing, Node, NodeRole

ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/0123456789ab"
LAUNCHED = datetime(2026, 11, 20, tzinfo=UTC)


def node(
    group: str = "trn1", index: int = 1, *, status: str = "Running", role: NodeRole = NodeRole.COMPUTE, **more: Any
) -> Node:
    """A HyperPod node, with address and id from group and index."""
    number = 16 * sum(group.encode()) % 200 + index
    facts: dict[str, Any] = {
        "instance_id": f"i-{number:017x}",
        "name": f"ip-10-1-0-{number}",
        "address": f"10.1.0.{number}",
        "target": f"sagemaker-cluster:0123456789ab_{group}-i-{number:017x}",
        "instance_type": "ml.trn1.32xlarge",
    }
    return Node(group=group, index=index, status=status, running=status == "Running", role=role, **(facts | more))


def listing(*nodes: Node, **more: Any) -> Listing:
    return Listing(nodes=nodes, name="ml-cluster", **more)


def hyperpod_answers(count: int, **more: Any) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
    """HyperPod's responses for a cluster with one controller and `count` compute nodes, 100 per page."""
    groups = [
        {"InstanceGroupName": "controller", "CurrentCount": 1, "TargetCount": 1},
        {"InstanceGroupName": "trn1", "CurrentCount": count, "TargetCount": count},
    ]
    summaries = [_summary("controller", 0), *(_summary("trn1", number + 1) for number in range(count))]

    def listed(requested: dict[str, Any]) -> dict[str, Any]:
        begin, size = int(requested.get("NextToken", 0)), requested["MaxResults"]
        token = {"NextToken": str(begin + size)} if begin + size < len(summaries) else {}
        return {"ClusterNodeSummaries": summaries[begin : begin + size]} | token

    described = {"ClusterArn": ARN, "ClusterName": "ml-cluster", "ClusterStatus": "InService"}
    return {
        "DescribeCluster": lambda _: described | {"InstanceGroups": groups} | more,
        "ListClusterNodes": listed,
    }


def _summary(group: str, number: int) -> dict[str, Any]:
    return {
        "InstanceGroupName": group,
        "InstanceId": f"i-{number:017x}",
        "InstanceType": "ml.trn1.32xlarge",
        "LaunchTime": LAUNCHED + timedelta(seconds=number),
        "InstanceStatus": {"Status": "Running"},
        "PrivateDnsHostname": f"ip-10-1-{number // 250}-{number % 250}.us-west-2.compute.internal",
    }
