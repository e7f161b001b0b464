"""Events of stacks, ParallelCluster clusters and services, collected from all services that have them."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from llm_fleet.cli.clients import AwsClients, AwsGone, aws_errors_reported
from llm_fleet.cli.events.cluster_events import Event, Level, cluster_events, cluster_operations, merged
from llm_fleet.cli.logs.log_place import StoppedTask, described, stopped_tasks
from llm_fleet.cli.logs.log_streams import ask
from llm_fleet.cli.place import Kind, Place
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.problem import Problem

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackEventTypeDef

_STACK = "AWS::CloudFormation::Stack"
_CANCELLED = "Resource creation cancelled"
"""CloudFormation's reason for the other resources once one has failed; without information."""


def stack_events(
    clients: AwsClients, stack: str, *, since: datetime | None = None, everything: bool = False
) -> list[Event]:
    """Return the failures of a stack by name or id, including nested stacks; with `everything` all events.

    Without `since`, of the last deployment only. Empty if the stack does not exist. Raises
    `AwsRefusal`.
    """
    found: list[Event] = []
    for event in _of_stack(clients, stack, since):
        status = event.get("ResourceStatus", "")
        failed = "FAILED" in status or "ROLLBACK_IN_PROGRESS" in status
        if (failed and _CANCELLED not in event.get("ResourceStatusReason", "")) or everything:
            found.append(_stack_event(event, failed=failed))
        nested = event.get("PhysicalResourceId", "")
        if failed and event.get("ResourceType") == _STACK and nested.startswith("arn:") and nested != event["StackId"]:
            found += stack_events(clients, nested, since=since, everything=everything)
    return list({event.key: event for event in found}.values())


def _of_stack(clients: AwsClients, stack: str, since: datetime | None) -> "Iterator[StackEventTypeDef]":
    """Yield the events, the newest first, back to the start of the last deployment or to `since`."""
    with suppress(AwsGone), aws_errors_reported(f"stack {stack}"):
        for page in clients.cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack):
            for event in page["StackEvents"]:
                if since and event["Timestamp"] < since:
                    return
                yield event
                if since is None and _begins(event):
                    return


def _begins(event: "StackEventTypeDef") -> bool:
    """Whether a deployment begins with it: an event of the stack itself, and not of a rollback."""
    of_stack = event.get("PhysicalResourceId") == event["StackId"]
    return of_stack and event.get("ResourceStatus") in (
        "CREATE_IN_PROGRESS",
        "UPDATE_IN_PROGRESS",
        "DELETE_IN_PROGRESS",
    )


def _stack_event(reported: "StackEventTypeDef", *, failed: bool) -> Event:
    return Event(
        time=reported["Timestamp"],
        level=Level.ERROR if failed else Level.INFO,
        source="CloudFormation",
        about=f"{reported['StackName']}/{reported.get('LogicalResourceId', '')}",
        what=f"{reported.get('ResourceType', '')} {reported.get('ResourceStatus', '')}".strip(),
        failure=reported.get("ResourceStatusReason"),
        key=reported["EventId"],
    )


_VERSION = "parallelcluster:version"


def cluster_stacks(clients: AwsClients, name: str) -> list[str]:
    """Return the ids of the cluster's own stacks that exist: two during a replacement of the cluster.

    If none exists, the last deleted stack, e.g. after a failure. Raises `AwsRefusal`.
    """
    form = re.compile(re.escape(name) + r"(-[0-9a-f]{8})?")
    with aws_errors_reported(f"stacks of {name}"):
        pages = clients.cloudformation.get_paginator("describe_stacks").paginate()
        there: list[Any] = [stack for page in pages for stack in page["Stacks"]]
    found = [one["StackId"] for one in there if form.fullmatch(one["StackName"]) and _is_cluster(one)]
    if found:
        return found
    with aws_errors_reported(f"stacks of {name}"):
        gone = clients.cloudformation.get_paginator("list_stacks").paginate(StackStatusFilter=["DELETE_COMPLETE"])
        deleted: list[Any] = [stack for page in gone for stack in page["StackSummaries"]]
    fitting = [one for one in deleted if form.fullmatch(one["StackName"])]
    return [max(fitting, key=lambda one: one["CreationTime"])["StackId"]] if fitting else []


def _is_cluster(stack: dict[str, Any]) -> bool:
    return any(tag["Key"] == _VERSION for tag in stack.get("Tags", []))


_BAD = ("unable to", "unhealthy", "failed", "was unable")


def service_events(clients: AwsClients, service: str, *, since: datetime | None = None) -> list[Event] | None:
    """Return the service's last hundred events and its stopped tasks; `None` if the service does not exist.

    Raises `AwsRefusal`.
    """
    with aws_errors_reported(f"inference service {service}"):
        answer = clients.ecs.describe_services(cluster=service, services=[service])
    if not answer["services"]:
        return None
    reported: list[Any] = list(answer["services"][0].get("events", []))
    events = [_service_event(one) for one in reported if since is None or one["createdAt"] >= since]
    stopped = [_stopped(task) for task in stopped_tasks(clients, service, since=since) if task.stopped]
    return [*events, *stopped]


def _service_event(reported: dict[str, Any]) -> Event:
    message = str(reported.get("message", ""))
    return Event(
        time=reported["createdAt"],
        level=Level.WARN if any(word in message for word in _BAD) else Level.INFO,
        source="ECS",
        about="",
        what=message,
        key=str(reported.get("id", "")),
    )


def _stopped(task: StoppedTask) -> Event:
    assert task.stopped is not None
    return Event(
        time=task.stopped,
        level=Level.INFO if task.is_well else Level.ERROR,
        source="ECS",
        about=task.task,
        what=f"task stopped: {task.code}",
        failure=task.why,
        key=f"stopped/{task.task}",
    )


@dataclass(slots=True)
class Collected:
    """The events, and what could not be collected."""

    events: list[Event] = field(default_factory=list[Event])
    state: str | None = None
    """State of the cluster or service, e.g. `Failed`; `None` if there is none."""
    failure: str | None = None
    """The failure message of the service."""
    remarks: list[str] = field(default_factory=list[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    """Calls that AWS refused."""


def collect(
    clients: AwsClients,
    place: Place,
    *,
    since: datetime | None = None,
    node: str | None = None,
    everything: bool = False,
    known: dict[str, Event] | None = None,
) -> Collected:
    """Return all events without duplicates. Refused calls are among the problems. Raises `AwsRefusal`."""
    found = Collected()
    if place.kind is Kind.HYPERPOD:
        _of_hyperpod(clients, place, found, since, node, known)
    elif place.kind is Kind.SERVICE:
        _of_service(clients, place, found, since)
    else:
        _of_parallelcluster(clients, place, found, since, everything)
        if node is not None:
            found.remarks.append(
                "CloudFormation has no events of single nodes; `llm-fleet logs --node` shows the start of a node"
            )
    if place.stack is not None and node is None:
        stack = place.stack
        found.events += ask(
            found.problems, partial(stack_events, clients, stack, since=since, everything=everything), []
        )
    elif place.stack is None and place.kind is not Kind.PARALLELCLUSTER:
        found.remarks.append(
            "events of CloudFormation are missing: name the fleet file with -f FILE, which has the stack's name"
        )
    if not found.events and not found.problems and found.remarks[:1] == [_gone(place)]:
        refuse(
            CommandCode.GONE,
            "the cluster or service does not exist, and AWS has no events of it",
            "check that it was deployed in this Region and account; events of a deleted stack are kept for 90 days, "
            f"under its id: `aws cloudformation list-stacks --region {clients.region} "
            "--stack-status-filter DELETE_COMPLETE`",
            subject=str(place),
        )
    events = [event for event in found.events if node in (None, event.about)]
    found.events = [event for event in merged(events) if everything or not event.noise]
    return found


def _gone(place: Place) -> str:
    return f"{place} does not exist"


def _of_hyperpod(
    clients: AwsClients,
    place: Place,
    found: Collected,
    since: datetime | None,
    node: str | None,
    known: dict[str, Event] | None,
) -> None:
    cluster = described(clients, place.name)
    if cluster is None:
        found.remarks.append(_gone(place))
        return
    found.state = cluster["ClusterStatus"]
    found.failure = cluster.get("FailureMessage") or None
    arn, reported = cluster["ClusterArn"], found.remarks.append
    events = partial(cluster_events, clients, arn, since=since, node=node, remark=reported, known=known)
    found.events += ask(found.problems, events, [])
    if node is None:
        operations = partial(cluster_operations, clients, arn, since=since, remark=reported, known=known)
        found.events += ask(found.problems, operations, [])


def _of_service(clients: AwsClients, place: Place, found: Collected, since: datetime | None) -> None:
    events = ask(found.problems, lambda: service_events(clients, place.name, since=since), [])
    if events is None:
        found.remarks.append(_gone(place))
    found.events += events or []


def _of_parallelcluster(
    clients: AwsClients, place: Place, found: Collected, since: datetime | None, everything: bool
) -> None:
    stacks = ask(found.problems, lambda: cluster_stacks(clients, place.name), None)
    if stacks == []:
        found.remarks.append(f"no stack of a cluster {place.name} exists, and none was deleted recently")
    for stack in stacks or ():
        found.events += ask(
            found.problems, partial(stack_events, clients, stack, since=since, everything=everything), []
        )
