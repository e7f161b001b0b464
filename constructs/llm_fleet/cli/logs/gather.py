"""Finds out what the last start of each node came to: from its log, and where that says nothing from its report."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.logs.ask import ask
from llm_fleet.cli.logs.gathered import Gathered
from llm_fleet.cli.logs.log_line import LogLine
from llm_fleet.cli.logs.log_place import LogPlace, NodeStream
from llm_fleet.cli.logs.log_streams import filtered_lines, stream_lines
from llm_fleet.cli.logs.node_run import NodeRun, Source
from llm_fleet.cli.logs.parse_runs import HOOKS, ParsedRun, parse_runs
from llm_fleet.cli.logs.reports import StoredReports, read_report, reports_uri, stored_reports
from llm_fleet.cli.terminal.counted import counted
from llm_fleet.cli.terminal.progress import progress

_TELLING = ("LFN", "remedy: ", *(f"{hook}: " for hook in HOOKS), "Failed to execute")
"""What the lines have that tell how a start ended: of thousands of nodes only these are fetched."""
_READ_WHOLE = 20
"""Starts that have not ended are few, or the cluster is only coming up: then so many are looked into."""
_LISTED = 3


def gather(
    clients: AwsClients,
    place: LogPlace,
    *,
    since: datetime | None = None,
    wanted: Callable[[str, str], bool] = lambda node, group: True,
    whole: bool = False,
) -> Gathered:
    """Return the last run of each node that is `wanted` by id and group.

    `whole` reads each stream to its last line, so that the steps are known, too. Nodes that are gone are told of where
    their last start did not end well. What AWS refuses is among the problems.
    """
    gathered = Gathered(remarks=list(place.remarks), problems=list(place.problems))
    streams = [stream for stream in place.streams if wanted(stream.node, stream.group)]
    found = ask(gathered.problems, lambda: _from_log(clients, place, streams, since=since, whole=whole), {})
    for node, group in place.nodes.items():
        if wanted(node, group) and node not in found:
            found[node] = NodeRun(node=node, group=group, source=Source.NOTHING)
    ask(gathered.problems, lambda: _from_reports(clients, place, found, gathered, wanted, since), None)
    gathered.runs = sorted(
        (run for run in found.values() if run.lives or run.code != "OK"),
        key=lambda run: (not run.lives, run.group, run.node),
    )
    return gathered


def _from_log(
    clients: AwsClients, place: LogPlace, streams: list[NodeStream], *, since: datetime | None, whole: bool
) -> dict[str, NodeRun]:
    if place.group is None or not streams:
        return {}
    if whole:
        lines = {one.name: list(stream_lines(clients.logs, place.group, one.name, since=since)) for one in streams}
    else:
        lines = _telling_lines(clients, place, {one.name for one in streams}, since)
        unended = [one for one in streams if not any(run.ended for run in parse_runs(lines.get(one.name, ())))]
        with progress("starts that have not ended", total=len(unended[:_READ_WHOLE])) as step:
            for one in unended[:_READ_WHOLE]:
                lines[one.name] = list(stream_lines(clients.logs, place.group, one.name, since=since))
                step()
    found: dict[str, NodeRun] = {}
    for one in streams:
        run = _run(one, parse_runs(lines.get(one.name, ())), lives=place.lives(one.node))
        if since and not lines.get(one.name):
            continue  # It started before the time asked for.
        if one.node not in found or found[one.node].code is None:
            found[one.node] = replace(run, group=place.nodes.get(one.node, one.group))
    return found


def _telling_lines(
    clients: AwsClients, place: LogPlace, names: set[str], since: datetime | None
) -> dict[str, list[LogLine]]:
    assert place.group is not None
    lines: dict[str, list[LogLine]] = {}
    for _, line in filtered_lines(clients.logs, place.group, prefix=place.prefix, terms=_TELLING, since=since):
        if line.stream in names:
            lines.setdefault(line.stream, []).append(line)
    return lines


def _run(stream: NodeStream, runs: list[ParsedRun], *, lives: bool) -> NodeRun:
    if not runs:
        return NodeRun(node=stream.node, group=stream.group, lives=lives, source=Source.LOG, place=stream.name)
    last = runs[-1]
    return NodeRun(
        node=stream.node,
        group=stream.group,
        source=Source.LOG,
        lives=lives,
        hook=last.hook,
        started=last.lines[0].time,
        seconds=last.seconds,
        code=last.code,
        cause=last.cause,
        remedy=last.remedy,
        steps=tuple(last.steps.values()),
        failed_before=sum(run.code not in (None, "OK") for run in runs[:-1]),
        place=stream.name,
    )


def _from_reports(
    clients: AwsClients,
    place: LogPlace,
    found: dict[str, NodeRun],
    gathered: Gathered,
    wanted: Callable[[str, str], bool],
    since: datetime | None,
) -> None:
    """Put the reports of those in the place of what the log does not tell."""
    untold = [node for node, run in found.items() if run.code is None]
    # A node that failed is gone soon, and its log may never have come: the report is all that is left of it.
    if not untold and place.streams and place.nodes:
        return
    stored = _stored(clients, place)
    if stored is None:
        _tell_untold(gathered, [node for node in untold if found[node].source is Source.NOTHING])
        return
    told: list[str] = []
    nodes = [node for node in {**dict.fromkeys(untold), **stored.newest} if node in stored.newest]
    nodes = [node for node in nodes if node not in found or found[node].code is None]
    with progress("reports", total=len(nodes)) as step:
        for node in nodes:
            run = read_report(clients.client("s3"), stored.newest[node], node=node, lives=place.lives(node))
            step()
            if run is None or not wanted(node, run.group) or _is_before(run, since):
                continue
            found[node] = run
            told.append(node)
    if told:
        gathered.remarks.append(
            f"CloudWatch has not how {_counted(told)} ended; told from the reports in {stored.uri}: {_listed(told)}"
        )
    _tell_untold(gathered, [node for node in untold if found[node].source is Source.NOTHING])


def _stored(clients: AwsClients, place: LogPlace) -> StoredReports | None:
    uri = reports_uri(clients.client("s3"), place.bundles) if place.bundles else None
    return None if uri is None else stored_reports(clients.client("s3"), uri)


def _tell_untold(gathered: Gathered, nodes: list[str]) -> None:
    if nodes:
        gathered.remarks.append(
            f"neither CloudWatch nor a report tells of {_counted(nodes)}: {_listed(nodes)}; it may be starting still, "
            "or its group runs no lifecycle script"
        )


def _is_before(run: NodeRun, since: datetime | None) -> bool:
    return since is not None and run.started is not None and run.started < since


def _counted(nodes: Iterable[str]) -> str:
    count = len(list(nodes))
    return counted(count, "node")


def _listed(nodes: list[str]) -> str:
    return ", ".join(nodes[:_LISTED]) + (f" and {len(nodes) - _LISTED} more" if len(nodes) > _LISTED else "")
