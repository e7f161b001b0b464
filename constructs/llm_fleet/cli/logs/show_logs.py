"""Prints logs of nodes and services: runs of the lifecycle scripts, and lines."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import NoReturn

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.logs.gather import Gathered, Requested, follow_lines, gather
from llm_fleet.cli.logs.log_place import (
    HOSTS,
    LogPlace,
    StoppedTask,
    described,
    hyperpod_place,
    log_group_of,
    node_of,
    parallelcluster_place,
    prefix_of,
    service_log_group_of,
    stopped_tasks,
    streams_of,
)
from llm_fleet.cli.logs.log_streams import LogLine, filtered_lines, follow, print_line, stream_lines, stream_names
from llm_fleet.cli.logs.node_runs import NodeRun, Source, has_code, has_step, parse_runs
from llm_fleet.cli.place import Kind, Place
from llm_fleet.cli.screen import Screen, Tone, Toned, counted, painted, print_json
from llm_fleet.cli.table import Cell, Column, Table
from llm_fleet.cli.verb import ExitCode, refuse
from llm_fleet.rules.feature_codes import LogsCode

_RUN_COLUMNS = (
    Column(key="node", title="NODE"),
    Column(key="group", title="GROUP"),
    Column(key="outcome", title="START"),
    Column(key="step", title="STEP"),
    Column(key="code", title="CODE"),
    Column(key="seconds", title="SECONDS", right=True),
    Column(key="started", title="AT (UTC)"),
    Column(key="cause", title="CAUSE", wraps=True),
)
_STEP_COLUMNS = (
    Column(key="step", title="STEP"),
    Column(key="state", title="STATE"),
    Column(key="seconds", title="SECONDS", right=True),
    Column(key="code", title="CODE"),
    Column(key="cause", title="CAUSE", wraps=True),
)
_TONES = {"ok": Tone.GOOD, "FAILED": Tone.BAD, "done": Tone.GOOD, "failed": Tone.BAD}


def runs_table(runs: Sequence[NodeRun]) -> Table:
    """Return a table with one row per node."""
    return Table(columns=_RUN_COLUMNS, rows=[_run_row(run) for run in runs])


def steps_table(run: NodeRun) -> Table:
    """Return a table with one row per step of a run."""
    rows: list[dict[str, Cell]] = [
        {
            "step": step.name,
            "state": Toned(step.state, _TONES.get(step.state, Tone.PLAIN)),
            "seconds": _seconds(step.seconds),
            "code": step.code,
            "cause": step.cause,
        }
        for step in run.steps
    ]
    return Table(columns=_STEP_COLUMNS, rows=rows)


def remedies(runs: Sequence[NodeRun], screen: Screen) -> str:
    """Return each failure code once, with its number of nodes, its remedy and its page."""
    reported: list[str] = []
    for code in dict.fromkeys(run.code for run in runs if run.failed):
        having = [run for run in runs if run.code == code]
        remedy = next((run.remedy for run in having if run.remedy), None)
        count = counted(len(having), "node")
        reported.append(f"{painted(str(code), Tone.BAD, color=screen.color)} on {count}")
        reported += [f"  remedy: {remedy}"] if remedy else []
        reported.append(f"  more: docs/node-failures/{code}.md")
    return "".join(f"{line}\n" for line in reported)


def summary(runs: Sequence[NodeRun]) -> str:
    """Return one line with the number of nodes by result."""
    counts = Counter(run.words for run in runs)
    return f"{counted(len(runs), 'node')}: " + ", ".join(f"{number} {words}" for words, number in counts.items())


def _run_row(run: NodeRun) -> dict[str, Cell]:
    outcome = run.words + ("" if run.lives else ", node deleted")
    if run.failed_before:
        outcome += f", attempt {run.failed_before + 1}"
    return {
        "node": run.node,
        "group": run.group,
        "outcome": Toned(outcome, _TONES.get(run.words, Tone.WARNING)),
        "step": run.step,
        "code": None if run.code == "OK" else run.code,
        "seconds": _seconds(run.seconds),
        "started": _time(run.started),
        "cause": run.cause,
    }


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.1f}"


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).strftime("%m-%d %H:%M")


def show_overview(place: Place, requested: Requested) -> int:
    """Print the rows; return 1 if one of them failed. Raises `FleetError`."""
    clients = AwsClients(region=place.region)
    gathered = gather(
        clients,
        log_place(clients, place),
        since=requested.since,
        wanted=requested.wants,
        whole=requested.node is not None,
    )
    check_node(gathered, requested, place)
    unknown = sum(run.code is None for run in gathered.runs)
    gathered.runs = [run for run in gathered.runs if requested.wants_run(run)]
    if requested.as_json:
        runs = [run.as_json() for run in gathered.runs]
        reported = {"cluster": place.name, "runs": runs, "remarks": gathered.remarks, "problems": gathered.problems}
        print_json(reported)
    else:
        _print(gathered, requested, unknown)
    return gathered.exit_code(gathered.runs)


def log_place(clients: AwsClients, place: Place) -> LogPlace:
    """Return the logs of a cluster."""
    of_kind = parallelcluster_place if place.kind is Kind.PARALLELCLUSTER else hyperpod_place
    return of_kind(clients, place.name)


def check_node(gathered: Gathered, requested: Requested, place: Place) -> None:
    """Refuse a node without a log and a report (LF1122)."""
    if gathered.runs or (requested.node is None and requested.group is None) or requested.since or gathered.problems:
        return
    refuse(
        LogsCode.NODE_UNKNOWN,
        "the node has neither a log nor a report",
        "run `llm-fleet logs` without --node and --group for a list of nodes, including deleted ones",
        subject=str(place),
        value=requested.node or requested.group,
    )


def nothing_shown(gathered: Gathered, requested: Requested, unknown: int) -> str:
    """Return the text for no rows. "No failures" requires a result of every node; `unknown`: nodes without one."""
    if not (requested.failed or requested.code):
        return "no node has a known result of its start" if gathered.problems else "no node has started yet"
    what = f"ended with {requested.code}" if requested.code else "failed"
    if gathered.problems:
        return f"no known start has {what}; not all nodes could be read"
    if unknown:
        return f"no known start has {what}; the result of {counted(unknown, 'node')} is unknown"
    return f"no node's start {what}"


def _print(gathered: Gathered, requested: Requested, unknown: int) -> None:
    screen = Screen.of_output()
    if gathered.runs:
        print(runs_table(gathered.runs).text(screen), end="")
        print(f"\n{summary(gathered.runs)}")
        reported = remedies(gathered.runs, screen)
        print(f"\n{reported}" if reported else "", end="")
    else:
        print(nothing_shown(gathered, requested, unknown))
    gathered.print_notes()


def show_lines(place: Place, requested: Requested) -> int:
    """Print the lines; return 1 if one of these starts failed. Raises `FleetError`."""
    clients = AwsClients(region=place.region)
    if requested.follow:
        follow_lines(clients, place, requested, lambda line: requested.log is not None or _fits(line, requested))
    if requested.log is not None:
        return _other_log(clients, place, requested)
    found = log_place(clients, place)
    gathered = gather(clients, found, since=requested.since, wanted=requested.wants, whole=True)
    check_node(gathered, requested, place)
    gathered.print_notes()
    runs = [run for run in gathered.runs if requested.wants_run(run)]
    for run in runs:
        if run.source is Source.LOG and found.group and run.place:
            lines = list(stream_lines(clients.logs, found.group, run.place, since=requested.since))
            ours = [] if requested.raw else parse_runs(lines)
            for line in ours[-1].lines if ours else lines:
                if _fits(line, requested):
                    print_line(line, node=run.node, as_json=requested.as_json)
        elif run.source is Source.REPORT and not requested.as_json:
            print(f"{run.node}  {run.group}  {run.code}  (report {run.place})")
            print(steps_table(run).text(Screen.of_output()), end="")
    return gathered.exit_code(runs)


def _fits(line: LogLine, requested: Requested) -> bool:
    return (requested.step is None or has_step(line, requested.step)) and (
        requested.code is None or has_code(line, requested.code)
    )


def _other_log(clients: AwsClients, place: Place, requested: Requested) -> int:
    """Print the lines of a log other than that of starts."""
    group, names, whose = _other_streams(clients, place, requested)
    for name in names:
        for line in stream_lines(clients.logs, group, name, since=requested.since):
            print_line(line, node=whose(line.stream), as_json=requested.as_json)
    return ExitCode.FINE


def _other_streams(
    clients: AwsClients, place: Place, requested: Requested
) -> tuple[str, list[str], Callable[[str], str]]:
    """Return the log group, the requested streams, and a function from a stream to its node."""
    assert requested.log is not None
    if place.kind is Kind.PARALLELCLUSTER:
        group = parallelcluster_place(clients, place.name).group or ""
        names = streams_of(requested.log, stream_names(clients.logs, group) or [])
        return (
            group,
            [name for name in names if requested.node in (None, node_of(name))],
            lambda one: node_of(one) or one,
        )
    prefix = prefix_of(requested.log)
    cluster = described(clients, place.name)
    group = log_group_of(clients, place.name, cluster["ClusterArn"] if cluster else None)
    there = stream_names(clients.logs, group, prefix) if group else None
    names = [name for name in there or () if _is_requested(name, requested)]
    if group is None or not names:
        refuse(
            LogsCode.NO_LOG,
            f"{group or 'the log group'} has no lines in streams {prefix}…",
            "check with `llm-fleet nodes` that nodes run; nodes without an accelerator have no health agent, "
            "and deep health checks run only if the group has `deep_health_checks`",
            subject=str(place),
        )
    return group, names, lambda one: one.rpartition("/")[2]


def _is_requested(name: str, requested: Requested) -> bool:
    """Whether a stream is of the requested node and group: `<prefix>/<group>/<node>`."""
    parts = name.split("/")
    return requested.node in (None, parts[-1]) and (requested.group is None or requested.group in parts[1:-1])


_TASK_COLUMNS = (
    Column(key="task", title="TASK"),
    Column(key="stopped", title="STOPPED (UTC)"),
    Column(key="code", title="WHY"),
    Column(key="reason", title="REASON", wraps=True),
)


def show_service(place: Place, requested: Requested) -> int:
    """Print stopped tasks, or lines; return 1 if a task stopped with an error. Raises `FleetError`."""
    clients = AwsClients(region=place.region)
    if requested.lines or requested.group or requested.node:
        return _lines(clients, place, requested)
    tasks = stopped_tasks(clients, place.name, since=requested.since)
    if not tasks:
        _service_streams(clients, place)
    if requested.failed:
        tasks = [task for task in tasks if not task.is_well]
    if requested.as_json:
        print_json({"service": place.name, "stopped": tasks})
    elif tasks:
        print(
            Table(columns=_TASK_COLUMNS, rows=[_task_row(task) for task in tasks]).text(Screen.of_output()),
            end="",
        )
    else:
        print("neither ECS nor the log has a stopped task")
        print(f"`llm-fleet logs {place.key or place.name} --raw` shows the lines of its containers", file=sys.stderr)
    return ExitCode.PROBLEMS if any(not task.is_well for task in tasks) else ExitCode.FINE


def _task_row(task: StoppedTask) -> dict[str, Cell]:
    return {
        "task": task.task,
        "stopped": task.stopped.strftime("%m-%d %H:%M:%S") if task.stopped else None,
        "code": Toned(task.code, Tone.PLAIN if task.is_well else Tone.BAD),
        "reason": task.why,
    }


def _lines(clients: AwsClients, place: Place, requested: Requested) -> int:
    group = service_log_group_of(place.name)
    if (
        requested.follow and place.stack is not None
    ):  # The cluster or service is in the fleet file, so the log can still appear.
        _follow(clients, group, requested)
    names = [name for name in _service_streams(clients, place) if _is_of_service(name, requested)]
    if requested.follow:
        _follow(clients, group, requested)
    if not names:
        refuse(
            LogsCode.LOG_UNKNOWN,
            "no task or host has written this log",
            "set --node to a task's id or a host's instance id, --group to a container's name, or use --log host",
            subject=str(place),
            value=requested.node or requested.group or requested.log,
        )
    for name in names:
        for line in stream_lines(clients.logs, group, name, since=requested.since):
            print_line(line, node=_whose(name), as_json=requested.as_json)
    return ExitCode.FINE


def _service_streams(clients: AwsClients, place: Place) -> list[str]:
    """Return the streams of a service. Raises `FleetError` (LF1121) if it has no log."""
    group = service_log_group_of(place.name)
    names = stream_names(clients.logs, group)
    if names is None:
        refuse(
            LogsCode.NO_LOG,
            f"the log group {group} does not exist",
            "check that the service is deployed in this Region and account: its stack creates the log group",
            subject=str(place),
        )
    return names


def _follow(clients: AwsClients, group: str, requested: Requested) -> NoReturn:
    def look(since: datetime | None) -> Iterable[tuple[str, LogLine]] | None:
        if not (requested.node or requested.group or requested.log):
            return filtered_lines(clients.logs, group, since=since)
        # Read again for each query: later tasks have their own streams.
        names = [name for name in stream_names(clients.logs, group) or () if _is_of_service(name, requested)]
        return filtered_lines(clients.logs, group, names=names, since=since) if names else None

    follow(
        look, lambda line: print_line(line, node=_whose(line.stream), as_json=requested.as_json), since=requested.since
    )


def _is_of_service(name: str, requested: Requested) -> bool:
    """Streams are `<prefix>/<container>/<task>`, `host/<instance id>`, and event streams."""
    return requested.log in (None, name.partition("/")[0]) and _is_requested(name, requested)


def _whose(name: str) -> str:
    return name if name.startswith(HOSTS) else "/".join(name.split("/")[1:]) or name
