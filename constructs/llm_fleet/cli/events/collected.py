"""Collects what happened to a cluster or service, from everyone who knows of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from llm_fleet.cli.aws.clients import AwsClients, AwsRefusal
from llm_fleet.cli.events.cluster_events import cluster_events, cluster_operations
from llm_fleet.cli.events.event import Event, merged
from llm_fleet.cli.events.stack_events import cluster_stacks, service_events, stack_events
from llm_fleet.cli.failures import refuse
from llm_fleet.cli.logs.log_place import described
from llm_fleet.cli.place import Kind, Place
from llm_fleet.rules.command_codes import CommandCode
from llm_fleet.rules.problem import Problem


@dataclass(slots=True)
class Collected:
    """What was found."""

    events: list[Event] = field(default_factory=list[Event])
    state: str | None = None
    """The cluster's or service's own state, e.g. `Failed`; `None` where there is none."""
    failure: str | None = None
    """Why, in the service's words."""
    remarks: list[str] = field(default_factory=list[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    """What AWS would not tell."""


def collect(
    clients: AwsClients,
    place: Place,
    *,
    since: datetime | None = None,
    node: str | None = None,
    everything: bool = False,
    known: dict[str, Event] | None = None,
) -> Collected:
    """Return all events, those told twice once. What cannot be asked is among the problems. Raises `AwsRefusal`."""
    found = Collected()
    if place.kind is Kind.HYPERPOD:
        _of_hyperpod(clients, place, found, since, node, known)
    elif place.kind is Kind.SERVICE:
        _of_service(clients, place, found, since)
    else:
        _of_parallelcluster(clients, place, found, since, everything)
        if node is not None:
            found.remarks.append(
                "CloudFormation tells nothing of single nodes; `llm-fleet logs --node` tells how one started"
            )
    if place.stack is not None and node is None:
        stack = place.stack
        _ask(found, lambda: stack_events(clients, stack, since=since, everything=everything))
    elif place.stack is None and place.kind is not Kind.PARALLELCLUSTER:
        found.remarks.append("what CloudFormation tells is left out: the fleet file (-f) names the stack")
    if not found.events and not found.problems and found.remarks[:1] == [_gone(place)]:
        refuse(
            CommandCode.GONE,
            "it is not there, and nothing tells what became of it",
            "see that it was deployed, in this region and account; a stack that was deleted has events for 90 days, "
            f"by its id: `aws cloudformation list-stacks --region {clients.region} "
            "--stack-status-filter DELETE_COMPLETE`",
            subject=str(place),
        )
    events = [event for event in found.events if node in (None, event.about)]
    found.events = [event for event in merged(events) if everything or not event.noise]
    return found


def _gone(place: Place) -> str:
    return f"there is no {place}, or no longer"


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
    arn, told = cluster["ClusterArn"], found.remarks.append
    _ask(found, lambda: cluster_events(clients, arn, since=since, node=node, remark=told, known=known))
    if node is None:
        _ask(found, lambda: cluster_operations(clients, arn, since=since, remark=told, known=known))


def _of_service(clients: AwsClients, place: Place, found: Collected, since: datetime | None) -> None:
    def ask() -> list[Event]:
        events = service_events(clients, place.name, since=since)
        if events is None:
            found.remarks.append(_gone(place))
        return events or []

    _ask(found, ask)


def _of_parallelcluster(
    clients: AwsClients, place: Place, found: Collected, since: datetime | None, everything: bool
) -> None:
    def ask() -> list[Event]:
        stacks = cluster_stacks(clients, place.name)
        if not stacks:
            found.remarks.append(f"there is no stack of a cluster {place.name}, and none that was deleted lately")
        return [one for stack in stacks for one in stack_events(clients, stack, since=since, everything=everything)]

    _ask(found, ask)


def _ask(found: Collected, ask: Callable[[], list[Event]]) -> None:
    """Take what is told, or why it is not: the others are asked all the same."""
    try:
        found.events += ask()
    except AwsRefusal as refused:
        found.problems += refused.problems
