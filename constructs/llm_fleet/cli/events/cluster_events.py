"""Events and their output; events of HyperPod clusters, and operations on their nodes."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from llm_fleet.catalog.nodes import remedy_for
from llm_fleet.cli.clients import AwsClients, AwsGone, AwsRefusal, aws_errors_reported
from llm_fleet.cli.screen import Tone, Toned, counted, progress
from llm_fleet.cli.table import Cell, Column, Table
from llm_fleet.functions.training_watch.clusters import failure_of, metadata_of
from llm_fleet.rules.feature_codes import CommandCode

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import ClusterEventSummaryTypeDef


class Level(StrEnum):
    """Severity."""

    INFO = "Info"
    WARN = "Warn"
    ERROR = "Error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event."""

    time: datetime
    level: Level
    source: str
    """The service: `HyperPod`, `CloudFormation`, `ECS`."""
    about: str
    """A node, a group, a resource of a stack, a task; empty for the cluster or service itself."""
    what: str
    failure: str | None = None
    """The failure message, if there is one in addition to `what`."""
    group: str | None = None
    times: int = 1
    """How often it was sent: HyperPod sends most events twice."""
    noise: bool = False
    """Whether it only reports that nodes are removed by scale-in."""
    key: str = ""
    """Identity: the service's id, if it has one."""

    @property
    def said(self) -> str:
        """Text and failure message."""
        return ": ".join(dict.fromkeys(part.strip() for part in (self.what, self.failure or "") if part.strip()))

    @property
    def remedy(self) -> str | None:
        """Remedy of a warning or an error."""
        return None if self.level is Level.INFO else remedy_for(self.said)

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        names = ("time", "level", "source", "about", "group", "what", "failure", "times", "remedy")
        return {name: getattr(self, name) for name in names}


SAME_WITHIN = timedelta(seconds=300)
"""Equal events about the same resource within this time count as one, as in `training_watch`."""


def merged(events: Iterable[Event]) -> list[Event]:
    """Return the events by time, each once, with its count."""
    kept: list[Event] = []
    last: dict[tuple[str, ...], int] = {}
    for event in sorted(events, key=lambda event: event.time):
        said = (event.source, event.level, event.about, event.group or "", event.what)
        place = last.get(said)
        if place is not None and event.time - kept[place].time <= SAME_WITHIN and _agree(kept[place], event):
            before = kept[place]
            kept[place] = replace(before, times=before.times + 1, failure=before.failure or event.failure)
            continue
        last[said] = len(kept)
        kept.append(event)
    return kept


def _agree(first: Event, second: Event) -> bool:
    """Whether two events can be the same: one may have the message that the other lacks."""
    return first.failure is None or second.failure is None or first.failure == second.failure


_COLUMNS = (
    Column(key="time", title="TIME (UTC)"),
    Column(key="level", title="LEVEL"),
    Column(key="source", title="BY"),
    Column(key="about", title="ABOUT"),
    Column(key="said", title="WHAT", wraps=True),
)
_TONES = {Level.INFO: Tone.PLAIN, Level.WARN: Tone.WARNING, Level.ERROR: Tone.BAD}


def events_table(events: Sequence[Event]) -> Table:
    """Return a table with one row per event, the oldest first."""
    return Table(columns=_COLUMNS, rows=[_event_row(event) for event in events])


def remedies(events: Sequence[Event], more: str | None = None) -> list[str]:
    """Return the remedies of `events`, each once; `more` is a failure message from another source."""
    found = [remedy_for(more) if more else None, *(event.remedy for event in events)]
    return [remedy for remedy in dict.fromkeys(found) if remedy]


def one_line(event: Event) -> str:
    """Return an event as one line, for `--follow`."""
    about = f"  {event.about}" if event.about else ""
    return f"{event.time.astimezone(UTC):%H:%M:%S}  {event.level.value:5}  {event.source}{about}  {event.said}"


def _event_row(event: Event) -> dict[str, Cell]:
    about = event.about
    if event.group and event.group != about:
        about = f"{about} ({event.group})"
    return {
        "time": event.time.astimezone(UTC).strftime("%m-%d %H:%M:%S"),
        "level": Toned(event.level.value, _TONES[event.level]),
        "source": event.source,
        "about": about or None,
        "said": event.said,
    }


def outcome_words(state: str | None, failure: str | None) -> str | None:
    """Return the state in one line; `None` if it is unknown."""
    if state is None:
        return None
    return f"{state}: {failure}" if failure else state


_MESSAGES = 200
"""Largest number of events whose message is queried: one call each, the newest first."""
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
    """Return the events of a cluster by name or ARN; none, and a remark, for one without continuous provisioning.

    `known`: events that were described before, by key; they are not queried again. Raises `AwsRefusal`.
    """
    request: dict[str, Any] = {"ClusterName": cluster}
    request |= {"EventTimeAfter": since} if since else {}
    request |= {"NodeId": node} if node else {}
    found: list[ClusterEventSummaryTypeDef] | None = _listed(clients, "events", request)
    if found is None:
        remark(
            "HyperPod stores events only for clusters with continuous provisioning, and this cluster does not have it"
        )
        return []
    return _with_messages(clients, cluster, found, remark, known or {})


_LISTS = {
    "events": ("list_cluster_events", "Events"),
    "operations": ("list_cluster_operations", "ClusterOperationSummaries"),
}


def _listed(clients: AwsClients, what: str, request: Mapping[str, Any], most: float = math.inf) -> list[Any] | None:
    """Return ListClusterEvents' items, the newest first; `None` for a cluster without continuous provisioning."""
    operation, key = _LISTS[what]
    found: list[Any] = []
    try:
        with aws_errors_reported(f"{what} of {request['ClusterName']}"), progress(what) as step:
            pages = _sagemaker(clients).get_paginator(operation).paginate(**request, SortOrder="Descending")
            for page in pages:
                found += page[key]
                step()
                if len(found) >= most:
                    break
    except AwsRefusal as refused:
        if refused.code is CommandCode.REFUSED and "Continuous" in str(refused):
            return None
        raise
    return found


def _with_messages(
    clients: AwsClients,
    cluster: str,
    found: "list[ClusterEventSummaryTypeDef]",
    remark: Callable[[str], None],
    known: Mapping[str, Event],
) -> list[Event]:
    """Return the events; warnings and errors with their messages, which take one call each."""
    events = [_event(one) for one in found]
    to_ask = [n for n, event in enumerate(events) if event.level is not Level.INFO and event.key not in known]
    left_out = len(to_ask) - _MESSAGES
    if left_out > 0:
        remark(f"{left_out} older warnings are listed without their message; use --since for fewer events")
    with progress("messages of events", total=len(to_ask[:_MESSAGES])) as step:
        for place in to_ask[:_MESSAGES]:
            detail, refused = _message_of(clients, cluster, events[place].key)
            step()
            if refused is not None:
                remark(f"cannot get the messages of events: {refused}")
                break
            scaling_in = is_scale_in(events[place], detail)
            events[place] = replace(events[place], failure=failure_of(detail), noise=scaling_in)
    return [known.get(event.key, event) for event in events]


def is_scale_in(event: Event, detail: Mapping[str, Any]) -> bool:
    """Whether a warning only reports scale-in, by the same rule as `training_watch`."""
    scaling: Mapping[str, Any] = metadata_of(detail).get("InstanceGroupScaling") or _NONE
    wanted, there = scaling.get("TargetCount"), scaling.get("InstanceCount")
    if event.level is not Level.WARN or wanted is None or there is None:
        return False
    return wanted < there and not scaling.get("FailureMessage")


def _message_of(clients: AwsClients, cluster: str, event_id: str) -> tuple[Mapping[str, Any], str | None]:
    """Return the response of DescribeClusterEvent, empty if there is none, and why the call was refused."""
    try:
        with aws_errors_reported(f"event {event_id}"):
            answer: Any = clients.sagemaker.describe_cluster_event(ClusterName=cluster, EventId=event_id)
            return answer.get("EventDetails") or _NONE, None
    except AwsRefusal as refused:
        return _NONE, None if isinstance(refused, AwsGone) else refused.problems[0].message


def _event(reported: "ClusterEventSummaryTypeDef") -> Event:
    level = reported.get("EventLevel") or "Info"
    return Event(
        time=reported["EventTime"],
        level=Level(level) if level in set(Level) else Level.WARN,
        source="HyperPod",
        about=reported.get("InstanceId") or reported.get("InstanceGroupName") or "",
        group=reported.get("InstanceGroupName"),
        what=reported.get("Description") or "an event without a description",
        key=reported["EventId"],
    )


_OPERATIONS = 50
"""Largest number of operations that are described: one call each, the newest first."""
_SINCE_BOTO3 = "1.44"
"""A release that has the call; earlier ones were not tested."""


def cluster_operations(
    clients: AwsClients,
    cluster: str,
    *,
    since: datetime | None = None,
    remark: Callable[[str], None] = lambda _: None,
    known: Mapping[str, Event] | None = None,
) -> list[Event]:
    """Return the operations of a cluster by name or ARN, as events at the time of their request.

    Without `since`, the newest. `known`: earlier events by key; finished operations are not queried again.
    Raises `AwsRefusal`.
    """
    if not hasattr(_sagemaker(clients), "list_cluster_operations"):
        remark(f"boto3 is too old for operations of HyperPod: run `pip install 'boto3>={_SINCE_BOTO3}'`")
        return []
    request: dict[str, Any] = {"ClusterName": cluster} | ({"CreationTimeAfter": since} if since else {})
    # `hyperpod_events` has a remark about clusters without events.
    found = _listed(clients, "operations", request, _OPERATIONS) or []
    return _whole_operations(clients, cluster, found[:_OPERATIONS], known or {})


def _sagemaker(clients: AwsClients) -> Any:
    """Return the client without types: they lack these calls."""
    return clients.sagemaker


def _whole_operations(clients: AwsClients, cluster: str, found: list[Any], known: Mapping[str, Event]) -> list[Event]:
    events: list[Event] = []
    with progress("operations", total=len(found)) as step:
        for one in found:
            key = f"{one['OperationId']}/{one['Status']}"
            events += [known[key]] if key in known else [_operation(_whole(clients, cluster, one), key)]
            step()
    return events


def _whole(clients: AwsClients, cluster: str, summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the described operation; if it is gone, the item of the list."""
    identifier = str(summary["OperationId"])
    with suppress(AwsGone), aws_errors_reported(f"operation {identifier}"):
        return _sagemaker(clients).describe_cluster_operation(ClusterName=cluster, OperationId=identifier)
    return summary


def _operation(reported: Mapping[str, Any], key: str) -> Event:
    scaled: list[Any] = reported.get("ScalingDetails") or []
    checked: list[Any] = reported.get("DeepHealthCheckDetails") or []
    words = [_scaling(one) for one in scaled] + [_check(one) for one in checked]
    groups = [str(one.get("InstanceGroupName", "")) for one in (*scaled, *checked)]
    return Event(
        time=reported["CreationTime"],
        level=Level.INFO,
        source="HyperPod",
        about=groups[0] if len(groups) == 1 else "",
        group=groups[0] if len(groups) == 1 else None,
        what=": ".join([f"operation {reported['Type']} {reported['Status']}", *([", ".join(words)] if words else [])]),
        key=key,
    )


def _scaling(reported: Mapping[str, Any]) -> str:
    before: Mapping[str, Any] = reported.get("Original") or {}
    wanted: Mapping[str, Any] = reported.get("Desired") or {}
    counts = f"{before.get('CurrentCount', '?')} to {wanted.get('TargetCount', '?')} nodes"
    return f"{reported.get('InstanceGroupName')} {counts}, {reported.get('Status')}"


def _check(reported: Mapping[str, Any]) -> str:
    nodes = len(reported.get("InstanceIds") or ())
    which = counted(nodes, "node") if nodes else "all nodes"
    return f"{reported.get('InstanceGroupName')} {which}, {', '.join(reported.get('DeepHealthChecks') or ())}"
