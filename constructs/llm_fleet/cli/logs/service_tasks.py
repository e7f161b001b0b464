"""Why the tasks of an inference service stopped: what ECS still knows, and what its log has kept longer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import AwsRefusal, told_of_aws
from llm_fleet.cli.logs.log_streams import filtered_lines
from llm_fleet.rules.day_two.command_codes import CommandCode

_PREFIX = "/llm-fleet/inference"
_TASKS_A_CALL = 100
HOSTS = "host/"
"""Streams in which hosts tell how their start went."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedTask:
    """One task that is no more."""

    task: str
    stopped: datetime | None
    code: str
    """ECS's own, e.g. `EssentialContainerExited`."""
    reason: str
    containers: tuple[str, ...]
    """`<name>: exit code 137, OutOfMemoryError…`, of those that did not end with 0."""

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {name: getattr(self, name) for name in self.__slots__}


def group_of(service: str) -> str:
    """Return the log group of a service."""
    return f"{_PREFIX}/{service}"


def stopped_tasks(clients: AwsClients, service: str, *, since: datetime | None = None) -> list[StoppedTask]:
    """Return the service's stopped tasks, the newest first: ECS forgets them after an hour, the log does not.

    Raises `AwsRefusal`.
    """
    found = {**_in_log(clients, service, since), **_in_ecs(clients, service)}
    recent = [task for task in found.values() if since is None or task.stopped is None or task.stopped >= since]
    return sorted(recent, key=lambda task: task.stopped.timestamp() if task.stopped else 0.0, reverse=True)


def _in_ecs(clients: AwsClients, service: str) -> dict[str, StoppedTask]:
    """Return those of the last hour; none of a service that is gone."""
    try:
        return _told_by_ecs(clients, service)
    except AwsRefusal as refused:
        if refused.code is not CommandCode.GONE:
            raise
        return {}


def _told_by_ecs(clients: AwsClients, service: str) -> dict[str, StoppedTask]:
    with told_of_aws(f"tasks of inference service {service}"):
        pages = clients.ecs.get_paginator("list_tasks").paginate(
            cluster=service, serviceName=service, desiredStatus="STOPPED"
        )
        arns = [arn for page in pages for arn in page["taskArns"]]
        tasks: list[Any] = []
        for begin in range(0, len(arns), _TASKS_A_CALL):
            part = arns[begin : begin + _TASKS_A_CALL]
            tasks += clients.ecs.describe_tasks(cluster=service, tasks=part)["tasks"]
    return {task["taskArn"]: _task(task) for task in tasks}


def _in_log(clients: AwsClients, service: str, since: datetime | None) -> dict[str, StoppedTask]:
    """Return those that EventBridge has written into the service's log; none where there is no log."""
    found: dict[str, StoppedTask] = {}
    try:
        for _, line in filtered_lines(clients.logs, group_of(service), terms=("STOPPED",), since=since):
            detail = _detail(line.text)
            if detail and detail.get("lastStatus") == "STOPPED":
                found[str(detail.get("taskArn"))] = _task(detail)
    except AwsRefusal as refused:
        if refused.code is not CommandCode.GONE:
            raise
    return found


def _detail(text: str) -> Mapping[str, Any] | None:
    try:
        event: Any = json.loads(text)
    except ValueError:
        return None
    return event.get("detail") if isinstance(event, dict) and event.get("source") == "aws.ecs" else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]


def _task(told: Mapping[str, Any]) -> StoppedTask:
    return StoppedTask(
        task=str(told.get("taskArn")).rpartition("/")[2],
        stopped=_time(told.get("stoppedAt")),
        code=str(told.get("stopCode") or "unknown"),
        reason=str(told.get("stoppedReason") or "ECS gives no reason"),
        containers=tuple(_ended(one) for one in told.get("containers", ()) if one.get("exitCode") or one.get("reason")),
    )


def _ended(container: Mapping[str, Any]) -> str:
    code, reason = container.get("exitCode"), container.get("reason")
    words = [f"exit code {code}"] if code is not None else []
    return f"{container.get('name')}: " + ", ".join([*words, *([str(reason)] if reason else [])])


def _time(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    return datetime.fromisoformat(value) if isinstance(value, str) else None
