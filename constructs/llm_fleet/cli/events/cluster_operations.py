"""What HyperPod tells of a cluster's operations: scaling, and deep health checks, with what they are to come to."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import AwsRefusal, told_of_aws
from llm_fleet.cli.events.event import Event, Level
from llm_fleet.cli.terminal.counted import counted
from llm_fleet.cli.terminal.progress import progress
from llm_fleet.rules.day_two.command_codes import CommandCode

_DESCRIBED = 50
"""Operations that are asked for one by one, the newest: each is a call of its own."""
_SINCE_BOTO3 = "1.44"
"""The release that was seen to know the call; which one was the first was not looked for."""


def cluster_operations(
    clients: AwsClients,
    cluster: str,
    *,
    since: datetime | None = None,
    remark: Callable[[str], None] = lambda _: None,
    known: Mapping[str, Event] | None = None,
) -> list[Event]:
    """Return the operations of a cluster by name or ARN, as events at the time when they were asked for.

    Where `since` is none, the newest. `known`: events of before by key; those that were done are not asked for again.
    Raises `AwsRefusal`.
    """
    if not hasattr(_sagemaker(clients), "list_cluster_operations"):
        remark(f"this boto3 does not know HyperPod's operations: `pip install 'boto3>={_SINCE_BOTO3}'`")
        return []
    request: dict[str, Any] = {"ClusterName": cluster, "SortOrder": "Descending"}
    request |= {"CreationTimeAfter": since} if since else {}
    found: list[Any] = []
    try:
        with told_of_aws(f"operations of {cluster}"):
            for page in _sagemaker(clients).get_paginator("list_cluster_operations").paginate(**request):
                found += page["ClusterOperationSummaries"]
                if len(found) >= _DESCRIBED:
                    break
    except AwsRefusal as refused:
        if refused.code is CommandCode.REFUSED and "Continuous" in str(refused):
            return []  # As with its events, of which this is said.
        raise
    return _described(clients, cluster, found[:_DESCRIBED], known or {})


def _sagemaker(clients: AwsClients) -> Any:
    """Return the client; its types do not know the calls yet."""
    return clients.sagemaker


def _described(clients: AwsClients, cluster: str, found: list[Any], known: Mapping[str, Event]) -> list[Event]:
    events: list[Event] = []
    with progress("operations", total=len(found)) as step:
        for one in found:
            key = f"{one['OperationId']}/{one['Status']}"
            events += [known[key]] if key in known else [_event(_detail(clients, cluster, one), key)]
            step()
    return events


def _detail(clients: AwsClients, cluster: str, summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the operation whole; as it is in the list where it is gone by now."""
    identifier = str(summary["OperationId"])
    try:
        with told_of_aws(f"operation {identifier}"):
            whole: Any = _sagemaker(clients).describe_cluster_operation(ClusterName=cluster, OperationId=identifier)
            return whole
    except AwsRefusal as refused:
        if refused.code is CommandCode.GONE:
            return summary
        raise


def _event(told: Mapping[str, Any], key: str) -> Event:
    scaled: list[Any] = told.get("ScalingDetails") or []
    checked: list[Any] = told.get("DeepHealthCheckDetails") or []
    words = [_scaling(one) for one in scaled] + [_check(one) for one in checked]
    groups = [str(one.get("InstanceGroupName", "")) for one in (*scaled, *checked)]
    return Event(
        time=told["CreationTime"],
        level=Level.INFO,
        source="HyperPod",
        about=groups[0] if len(groups) == 1 else "",
        group=groups[0] if len(groups) == 1 else None,
        what=": ".join([f"operation {told['Type']} {told['Status']}", *([", ".join(words)] if words else [])]),
        key=key,
    )


def _scaling(told: Mapping[str, Any]) -> str:
    before: Mapping[str, Any] = told.get("Original") or {}
    wanted: Mapping[str, Any] = told.get("Desired") or {}
    counts = f"{before.get('CurrentCount', '?')} to {wanted.get('TargetCount', '?')} nodes"
    return f"{told.get('InstanceGroupName')} {counts}, {told.get('Status')}"


def _check(told: Mapping[str, Any]) -> str:
    nodes = len(told.get("InstanceIds") or ())
    which = counted(nodes, "node") if nodes else "all nodes"
    return f"{told.get('InstanceGroupName')} {which}, {', '.join(told.get('DeepHealthChecks') or ())}"
