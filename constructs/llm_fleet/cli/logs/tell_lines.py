"""Shows lines of logs: of a node's last start, of a step, of another log; and follows them."""

from collections.abc import Callable, Iterable

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.exit_codes import ExitCode
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.logs.asked import Asked
from llm_fleet.cli.logs.follow_lines import follow_lines
from llm_fleet.cli.logs.gather import gather
from llm_fleet.cli.logs.log_line import LogLine
from llm_fleet.cli.logs.log_streams import stream_lines, stream_names
from llm_fleet.cli.logs.node_run import Source
from llm_fleet.cli.logs.overview import check_node, log_place
from llm_fleet.cli.logs.parse_runs import parse_runs
from llm_fleet.cli.logs.show_lines import has_code, has_step, print_line
from llm_fleet.cli.logs.show_runs import steps_table
from llm_fleet.cli.place.place import Kind, Place
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.rules.day_two.logs_codes import LogsCode


def show_lines(place: Place, asked: Asked) -> int:
    """Print the lines; return 1 where a start that is told of failed. Raises `FleetError`."""
    clients = AwsClients(region=place.region)
    if asked.follow:
        follow_lines(clients, place, asked, lambda line: asked.log is not None or _fits(line, asked))
    if asked.log is not None:
        return _other_log(clients, place, asked)
    found = log_place(clients, place)
    gathered = gather(clients, found, since=asked.since, wanted=asked.wants, whole=True)
    check_node(gathered, asked, place)
    gathered.tell()
    runs = [run for run in gathered.runs if asked.wants_run(run)]
    for run in runs:
        if run.source is Source.LOG and found.group and run.place:
            lines = list(stream_lines(clients.logs, found.group, run.place, since=asked.since))
            _print(_last_run(lines, asked), run.node, asked)
        elif run.source is Source.REPORT and not asked.as_json:
            print(f"{run.node}  {run.group}  {run.code}  (report {run.place})")
            print(steps_table(run).text(Screen.of_output()), end="")
    return gathered.exit_code(runs)


def _last_run(lines: list[LogLine], asked: Asked) -> list[LogLine]:
    """Return the lines of the last run, unless all are wanted."""
    runs = [] if asked.raw else parse_runs(lines)
    return runs[-1].lines if runs else lines


def _print(lines: Iterable[LogLine], node: str, asked: Asked) -> None:
    for line in lines:
        if _fits(line, asked):
            print_line(line, node=node, as_json=asked.as_json)


def _fits(line: LogLine, asked: Asked) -> bool:
    return (asked.step is None or has_step(line, asked.step)) and (asked.code is None or has_code(line, asked.code))


def _other_log(clients: AwsClients, place: Place, asked: Asked) -> int:
    """Show the lines of a log that is not of starts."""
    group, names, whose = _streams(clients, place, asked)
    for name in names:
        for line in stream_lines(clients.logs, group, name, since=asked.since):
            print_line(line, node=whose(line.stream), as_json=asked.as_json)
    return ExitCode.FINE


def _streams(clients: AwsClients, place: Place, asked: Asked) -> tuple[str, list[str], Callable[[str], str]]:
    """Return the log group, the streams that are asked for, and how to tell whose one is."""
    assert asked.log is not None
    if place.kind is Kind.PARALLELCLUSTER:
        from llm_fleet.cli.logs.parallelcluster_place import node_of, parallelcluster_place, streams_of

        group = parallelcluster_place(clients, place.name).group or ""
        names = streams_of(asked.log, stream_names(clients.logs, group) or [])
        return group, [name for name in names if asked.node in (None, node_of(name))], lambda one: node_of(one) or one
    from llm_fleet.cli.logs.hyperpod_place import described, log_group_of, prefix_of

    prefix = prefix_of(asked.log)
    cluster = described(clients, place.name)
    group = log_group_of(clients, place.name, cluster["ClusterArn"] if cluster else None)
    names = [name for name in (stream_names(clients.logs, group, prefix) if group else None) or [] if _is(name, asked)]
    if group is None or not names:
        refuse(
            LogsCode.NO_LOG,
            f"nothing has been written to {group or 'its log group'}, streams {prefix}…",
            "see with `llm-fleet nodes` whether nodes run; those without an accelerator have no health agent, "
            "and deep checks run only where the group has `deep_health_checks`",
            subject=str(place),
        )
    return group, names, lambda one: one.rpartition("/")[2]


def _is(name: str, asked: Asked) -> bool:
    parts = name.split("/")
    return (asked.node is None or parts[-1] == asked.node) and (asked.group is None or asked.group in parts[1:-1])
