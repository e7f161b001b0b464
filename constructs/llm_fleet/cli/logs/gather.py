"""Collects runs and lines from many log streams, and follows new lines."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NoReturn

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.logs.log_place import (
    PREFIXES,
    LogPlace,
    NodeStream,
    cluster_log_group_of,
    described,
    is_there,
    log_group_of,
    log_of,
    prefix_of,
    refuse_unknown,
    refuse_without_log,
)
from llm_fleet.cli.logs.log_streams import LogLine, ask, filtered_lines, follow, print_line, stream_lines, stream_names
from llm_fleet.cli.logs.node_runs import (
    HOOKS,
    NodeRun,
    ParsedRun,
    Source,
    StoredReports,
    parse_runs,
    read_report,
    reports_uri,
    stored_reports,
)
from llm_fleet.cli.place import Kind, Place
from llm_fleet.cli.screen import counted, print_notes, progress
from llm_fleet.cli.verb import ExitCode, refuse
from llm_fleet.rules.feature_codes import LogsCode
from llm_fleet.rules.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """Options of the command."""

    node: str | None = None
    group: str | None = None
    step: str | None = None
    code: str | None = None
    failed: bool = False
    since: datetime | None = None
    follow: bool = False
    log: str | None = None
    """Another log than that of nodes' starts."""
    raw: bool = False
    as_json: bool = False

    @property
    def lines(self) -> bool:
        """Whether to print lines instead of one row per node."""
        return bool(self.step or self.follow or self.log or self.raw or (self.node and not self.as_json))

    def wants(self, node: str, group: str) -> bool:
        """Return whether a node is requested."""
        return self.node in (None, node) and self.group in (None, group)

    def wants_run(self, run: NodeRun) -> bool:
        """Return whether a run with this result is requested."""
        if self.failed and not run.failed:
            return False
        return self.code is None or self.code in {run.code, *(step.code for step in run.steps)}


def failure_code(text: str | None) -> str | None:
    """Return a failure code in its full form: `LFN39` for `lfn39` or `39`. Raises `FleetError` (LF1124)."""
    if text is None:
        return None
    found = re.fullmatch(r"(?:LFN)?(\d{1,3})", text.strip(), re.IGNORECASE)
    if found is None:
        refuse(
            LogsCode.CODE_FORM,
            "unknown failure code of a node",
            "write a code such as `LFN39`; docs/node-failures lists all codes",
            subject="--code",
            value=text,
        )
    return f"LFN{int(found[1]):02}"


@dataclass(slots=True)
class Gathered:
    """The runs, and what could not be read."""

    runs: list[NodeRun] = field(default_factory=list[NodeRun])
    remarks: list[str] = field(default_factory=list[str])
    """Notes for the user: replaced sources, and missing data."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """Calls that AWS refused."""

    def exit_code(self, runs: Sequence[NodeRun]) -> ExitCode:
        """Return 1 if one of `runs` failed, 3 if AWS refused a call."""
        if any(run.failed for run in runs):
            return ExitCode.PROBLEMS
        return ExitCode.NOT_CHECKED if self.problems else ExitCode.FINE

    def print_notes(self) -> None:
        """Print remarks and problems on standard error."""
        print_notes(self.remarks, self.problems)


_REPORTING = ("LFN", "remedy: ", *(f"{hook}: " for hook in HOOKS), "Failed to execute")
"""Filter for the lines with a start's result: of thousands of nodes only these lines are fetched."""
_READ_WHOLE = 20
"""Largest number of unfinished starts whose lines are read: more of them exist only while a cluster is created."""
_LISTED = 3


def gather(
    clients: AwsClients,
    place: LogPlace,
    *,
    since: datetime | None = None,
    wanted: Callable[[str, str], bool] = lambda node, group: True,
    whole: bool = False,
) -> Gathered:
    """Return the last run of each node that `wanted` selects by id and group.

    `whole` reads all lines of each stream, for the steps. Deleted nodes are included if their last start failed. Calls
    that AWS refuses are among the problems.
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
        lines = _reporting_lines(clients, place, {one.name for one in streams}, since)
        unended = [one for one in streams if not any(run.ended for run in parse_runs(lines.get(one.name, ())))]
        with progress("unfinished starts", total=len(unended[:_READ_WHOLE])) as step:
            for one in unended[:_READ_WHOLE]:
                lines[one.name] = list(stream_lines(clients.logs, place.group, one.name, since=since))
                step()
    found: dict[str, NodeRun] = {}
    for one in streams:
        run = _run(one, parse_runs(lines.get(one.name, ())), lives=place.lives(one.node))
        if since and not lines.get(one.name):
            continue  # It started before `since`.
        if one.node not in found or found[one.node].code is None:
            found[one.node] = replace(run, group=place.nodes.get(one.node, one.group))
    return found


def _reporting_lines(
    clients: AwsClients, place: LogPlace, names: set[str], since: datetime | None
) -> dict[str, list[LogLine]]:
    assert place.group is not None
    lines: dict[str, list[LogLine]] = {}
    for _, line in filtered_lines(clients.logs, place.group, prefix=place.prefix, terms=_REPORTING, since=since):
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
    """Replace runs without a result in the log by the nodes' reports."""
    unreported = [node for node, run in found.items() if run.code is None]
    # A failed node is soon replaced, and its log may never reach CloudWatch: then only the report is left.
    if not unreported and place.streams and place.nodes:
        return
    stored = _stored(clients, place)
    if stored is None:
        _remark_without_result(gathered, [node for node in unreported if found[node].source is Source.NOTHING])
        return
    reported: list[str] = []
    nodes = [node for node in {**dict.fromkeys(unreported), **stored.newest} if node in stored.newest]
    nodes = [node for node in nodes if node not in found or found[node].code is None]
    with progress("reports", total=len(nodes)) as step:
        for node in nodes:
            run = read_report(clients.client("s3"), stored.newest[node], node=node, lives=place.lives(node))
            step()
            if run is None or not wanted(node, run.group) or (since and run.started and run.started < since):
                continue
            found[node] = run
            reported.append(node)
    if reported:
        gathered.remarks.append(
            f"CloudWatch has no result of {counted(len(reported), 'node')}; read from the reports in {stored.uri}: "
            f"{_listed(reported)}"
        )
    _remark_without_result(gathered, [node for node in unreported if found[node].source is Source.NOTHING])


def _stored(clients: AwsClients, place: LogPlace) -> StoredReports | None:
    uri = reports_uri(clients.client("s3"), place.bundles) if place.bundles else None
    return None if uri is None else stored_reports(clients.client("s3"), uri)


def _remark_without_result(gathered: Gathered, nodes: list[str]) -> None:
    if nodes:
        gathered.remarks.append(
            f"no start of {counted(len(nodes), 'node')} was found in CloudWatch Logs or reports: {_listed(nodes)}; "
            "a node may still be starting, or its group runs no lifecycle script"
        )


def _listed(nodes: list[str]) -> str:
    return ", ".join(nodes[:_LISTED]) + (f" and {len(nodes) - _LISTED} more" if len(nodes) > _LISTED else "")


Lines = Iterable[tuple[str, LogLine]]


def follow_lines(clients: AwsClients, place: Place, requested: Requested, fits: Callable[[LogLine], bool]) -> NoReturn:
    """Print matching lines as they are written, including lines of nodes that start later.

    Raises `AwsRefusal`, or `FleetError` (LF1008, LF1121) for a cluster that is not in a fleet file and does not exist.
    """
    look = _of_parallelcluster if place.kind is Kind.PARALLELCLUSTER else _of_hyperpod

    def show(line: LogLine) -> None:
        node, group = _who(line.stream, place)
        if requested.wants(node, group) and fits(line):
            print_line(line, node=node, as_json=requested.as_json)

    follow(look(clients, place, requested), show, since=requested.since)


def _of_hyperpod(clients: AwsClients, place: Place, requested: Requested) -> Callable[[datetime | None], Lines | None]:
    prefix = PREFIXES["lifecycle"] if requested.log is None else prefix_of(requested.log)
    if place.stack is None and _hyperpod_group(clients, place.name) is None:
        refuse_unknown(place.name, clients.region)

    def look(since: datetime | None) -> Lines | None:
        group = _hyperpod_group(clients, place.name)
        return None if group is None else filtered_lines(clients.logs, group, prefix=prefix, since=since)

    return look


def _hyperpod_group(clients: AwsClients, name: str) -> str | None:
    """Return the log group, even if it does not exist yet; `None` if there is and was no such cluster."""
    cluster = described(clients, name)
    return log_group_of(clients, name, cluster["ClusterArn"] if cluster else None)


def _of_parallelcluster(
    clients: AwsClients, place: Place, requested: Requested
) -> Callable[[datetime | None], Lines | None]:
    if place.stack is None and cluster_log_group_of(clients, place.name) is None and not is_there(clients, place.name):
        refuse_without_log(place.name, clients.region)

    def look(since: datetime | None) -> Lines | None:
        group = cluster_log_group_of(clients, place.name)
        if group is None or requested.log is None:
            return None if group is None else filtered_lines(clients.logs, group, since=since)
        names = [name for name in stream_names(clients.logs, group) or () if log_of(name) == requested.log]
        return filtered_lines(clients.logs, group, names=names, since=since) if names else None

    return look


def _who(stream: str, place: Place) -> tuple[str, str]:
    """Return the node and group of a stream, from its name."""
    if place.kind is Kind.PARALLELCLUSTER:
        host, _, rest = stream.partition(".")
        return rest.partition(".")[0], host
    parts = stream.split("/", 2)
    return parts[-1], parts[1] if len(parts) > 2 else ""
