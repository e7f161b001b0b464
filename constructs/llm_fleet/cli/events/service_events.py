"""What ECS tells of an inference service."""

from datetime import datetime
from typing import Any

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import told_of_aws
from llm_fleet.cli.events.event import Event, Level
from llm_fleet.cli.logs.service_tasks import StoppedTask, stopped_tasks

_BAD = ("unable to", "unhealthy", "failed", "was unable")
_WELL = frozenset({"ServiceSchedulerInitiated", "UserInitiated"})


def service_events(clients: AwsClients, service: str, *, since: datetime | None = None) -> list[Event] | None:
    """Return the service's last hundred events and its stopped tasks; `None` where there is no such service.

    Raises `AwsRefusal`.
    """
    with told_of_aws(f"inference service {service}"):
        answer = clients.ecs.describe_services(cluster=service, services=[service])
    if not answer["services"]:
        return None
    told: list[Any] = list(answer["services"][0].get("events", []))
    events = [_event(one) for one in told if since is None or one["createdAt"] >= since]
    stopped = [_stopped(task) for task in stopped_tasks(clients, service, since=since) if task.stopped]
    return [*events, *stopped]


def _event(told: dict[str, Any]) -> Event:
    message = str(told.get("message", ""))
    return Event(
        time=told["createdAt"],
        level=Level.WARN if any(word in message for word in _BAD) else Level.INFO,
        source="ECS",
        about="",
        what=message,
        key=str(told.get("id", "")),
    )


def _stopped(task: StoppedTask) -> Event:
    assert task.stopped is not None
    return Event(
        time=task.stopped,
        level=Level.INFO if task.code in _WELL else Level.ERROR,
        source="ECS",
        about=task.task,
        what=f"task stopped: {task.code}",
        failure="; ".join([task.reason, *task.containers]),
        key=f"stopped/{task.task}",
    )
