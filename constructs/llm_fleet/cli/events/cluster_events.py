"""What HyperPod tells of a cluster: its events, with the messages that the list leaves out."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import AwsRefusal, told_of_aws
from llm_fleet.cli.events.event import Event, Level
from llm_fleet.cli.terminal.progress import progress
from llm_fleet.functions.training_watch.cluster_event import failure_of, metadata_of
from llm_fleet.rules.day_two.command_codes import CommandCode

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import ClusterEventSummaryTypeDef

_DESCRIBED = 200
"""Events that are asked for one by one, the newest: each is a call of its own."""
_NONE: Mapping[str, Any] = {}


def cluster_events(
    clients: AwsClients,
    cluster: str,
    *,
    since: datetime | None = None,
    node: str | None = None,
    remark: Callable[[str], None] = lambda _: None,
    known: Mapping[str, Event] | None = None,
) -> list[Event]:
    """Return the events of a cluster by name or ARN; none where it has no continuous provisioning, which is a remark.

    `known`: those that were described before, by their key; they are not asked for again. Raises `AwsRefusal`.
    """
    request: dict[str, Any] = {"ClusterName": cluster, "SortOrder": "Descending"}
    request |= {"EventTimeAfter": since} if since else {}
    request |= {"NodeId": node} if node else {}
    try:
        with told_of_aws(f"events of {cluster}"), progress("events") as step:
            found: list[ClusterEventSummaryTypeDef] = []
            for page in clients.sagemaker.get_paginator("list_cluster_events").paginate(**request):
                found += page["Events"]
                step()
    except AwsRefusal as refused:
        if refused.code is CommandCode.REFUSED and "Continuous" in str(refused):
            remark("HyperPod keeps events only of clusters with continuous provisioning, which this one has not")
            return []
        raise
    return _described(clients, cluster, found, remark, known or {})


def _described(
    clients: AwsClients,
    cluster: str,
    found: "list[ClusterEventSummaryTypeDef]",
    remark: Callable[[str], None],
    known: Mapping[str, Event],
) -> list[Event]:
    """Return the events with their messages: of those that warn or fail, which are told of whole one by one."""
    events = [_event(one) for one in found]
    to_ask = [n for n, event in enumerate(events) if event.level is not Level.INFO and event.key not in known]
    left_out = len(to_ask) - _DESCRIBED
    if left_out > 0:
        remark(f"{left_out} older warnings are listed without their message; --since tells fewer")
    with progress("messages of events", total=len(to_ask[:_DESCRIBED])) as step:
        for place in to_ask[:_DESCRIBED]:
            detail, refused = _detail(clients, cluster, events[place].key)
            step()
            if refused is not None:
                remark(f"their messages cannot be had: {refused}")
                break
            scaling_in = is_scale_in(events[place], detail)
            events[place] = replace(events[place], failure=failure_of(detail), noise=scaling_in)
    return [known.get(event.key, event) for event in events]


def is_scale_in(event: Event, detail: Mapping[str, Any]) -> bool:
    """Whether a warning says only that nodes go because somebody wants fewer, as the watch judges it, too."""
    scaling: Mapping[str, Any] = metadata_of(detail).get("InstanceGroupScaling") or _NONE
    wanted, there = scaling.get("TargetCount"), scaling.get("InstanceCount")
    if event.level is not Level.WARN or wanted is None or there is None:
        return False
    return wanted < there and not scaling.get("FailureMessage")


def _detail(clients: AwsClients, cluster: str, event_id: str) -> tuple[Mapping[str, Any], str | None]:
    """Return DescribeClusterEvent's answer, empty where it knows none; and why it cannot be asked at all."""
    try:
        with told_of_aws(f"event {event_id}"):
            answer: Any = clients.sagemaker.describe_cluster_event(ClusterName=cluster, EventId=event_id)
            return answer.get("EventDetails") or _NONE, None
    except AwsRefusal as refused:
        if refused.code is CommandCode.GONE:
            return _NONE, None
        return _NONE, refused.problems[0].message


def _event(told: "ClusterEventSummaryTypeDef") -> Event:
    level = told.get("EventLevel") or "Info"
    return Event(
        time=told["EventTime"],
        level=Level(level) if level in set(Level) else Level.WARN,
        source="HyperPod",
        about=told.get("InstanceId") or told.get("InstanceGroupName") or "",
        group=told.get("InstanceGroupName"),
        what=told.get("Description") or "an event without a description",
        key=told["EventId"],
    )
