"""Shows why the tasks of an inference service stopped, and what its containers and hosts say."""

import sys
from collections.abc import Iterable
from datetime import datetime
from typing import NoReturn

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.exit_codes import ExitCode
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.logs.asked import Asked
from llm_fleet.cli.logs.log_line import LogLine
from llm_fleet.cli.logs.log_streams import filtered_lines, stream_lines, stream_names
from llm_fleet.cli.logs.service_tasks import HOSTS, StoppedTask, group_of, stopped_tasks
from llm_fleet.cli.logs.show_lines import follow, print_line
from llm_fleet.cli.place.place import Place
from llm_fleet.cli.terminal.json_text import print_json
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.cli.terminal.table import Cell, Column, Table
from llm_fleet.cli.terminal.tone import Tone, Toned
from llm_fleet.rules.day_two.logs_codes import LogsCode

_COLUMNS = (
    Column(key="task", title="TASK"),
    Column(key="stopped", title="STOPPED (UTC)"),
    Column(key="code", title="WHY"),
    Column(key="reason", title="REASON", wraps=True),
)
_WELL = frozenset({"ServiceSchedulerInitiated", "UserInitiated"})
"""Stop codes of tasks that nothing was wrong with."""


def show_service(place: Place, asked: Asked) -> int:
    """Print stopped tasks, or lines; return 1 where a task did not stop by itself. Raises `FleetError`."""
    clients = AwsClients(region=place.region)
    if asked.lines or asked.group or asked.node:
        return _lines(clients, place, asked)
    tasks = stopped_tasks(clients, place.name, since=asked.since)
    if not tasks:
        _streams(clients, place)
    if asked.failed:
        tasks = [task for task in tasks if task.code not in _WELL]
    if asked.as_json:
        print_json({"service": place.name, "stopped": [task.as_json() for task in tasks]})
    elif tasks:
        print(Table(columns=_COLUMNS, rows=[_row(task) for task in tasks]).text(Screen.of_output()), end="")
    else:
        print("no task has stopped that ECS or the log still knows of")
        print(f"`llm-fleet logs {place.key or place.name} --raw` has the lines of its containers", file=sys.stderr)
    return ExitCode.PROBLEMS if any(task.code not in _WELL for task in tasks) else ExitCode.FINE


def _row(task: StoppedTask) -> dict[str, Cell]:
    return {
        "task": task.task,
        "stopped": task.stopped.strftime("%m-%d %H:%M:%S") if task.stopped else None,
        "code": Toned(task.code, Tone.PLAIN if task.code in _WELL else Tone.BAD),
        "reason": "; ".join([task.reason, *task.containers]),
    }


def _lines(clients: AwsClients, place: Place, asked: Asked) -> int:
    group = group_of(place.name)
    if asked.follow and place.stack is not None:  # There will be one, as the fleet file says: it may be waited for.
        _follow(clients, group, asked)
    names = [name for name in _streams(clients, place) if _is(name, asked)]
    if asked.follow:
        _follow(clients, group, asked)
    if not names:
        refuse(
            LogsCode.LOG_UNKNOWN,
            "no task or host has written such a log",
            "--node takes a task's id or a host's instance id, --group a container's name, --log host",
            subject=str(place),
            value=asked.node or asked.group or asked.log,
        )
    for name in names:
        for line in stream_lines(clients.logs, group, name, since=asked.since):
            print_line(line, node=_whose(name), as_json=asked.as_json)
    return ExitCode.FINE


def _streams(clients: AwsClients, place: Place) -> list[str]:
    """Return the streams of a service. Raises `FleetError` (LF1121) where there is no log of it."""
    group = group_of(place.name)
    names = stream_names(clients.logs, group)
    if names is None:
        refuse(
            LogsCode.NO_LOG,
            f"there is no log group {group}",
            "see that the service was deployed, in this region and account; its stack makes the group and deletes it",
            subject=str(place),
        )
    return names


def _follow(clients: AwsClients, group: str, asked: Asked) -> NoReturn:
    def look(since: datetime | None) -> Iterable[tuple[str, LogLine]] | None:
        if not (asked.node or asked.group or asked.log):
            return filtered_lines(clients.logs, group, since=since)
        # Anew at each look: tasks that come later have streams of their own.
        names = [name for name in stream_names(clients.logs, group) or () if _is(name, asked)]
        return filtered_lines(clients.logs, group, names=names, since=since) if names else None

    follow(look, lambda line: print_line(line, node=_whose(line.stream), as_json=asked.as_json), since=asked.since)


def _is(name: str, asked: Asked) -> bool:
    """Streams are `<prefix>/<container>/<task>`, `host/<instance id>`, and those of events."""
    parts = name.split("/")
    if asked.log is not None and asked.log != parts[0]:
        return False
    return asked.node in (None, parts[-1]) and (asked.group is None or asked.group in parts[1:-1])


def _whose(name: str) -> str:
    return name if name.startswith(HOSTS) else "/".join(name.split("/")[1:]) or name
