"""Follows lines of logs: of the starts of nodes, or of another log; also of a cluster that is only coming up."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NoReturn

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.logs.asked import Asked
from llm_fleet.cli.logs.hyperpod_place import PREFIXES, described, log_group_of, prefix_of, refuse_unknown
from llm_fleet.cli.logs.log_line import LogLine
from llm_fleet.cli.logs.log_streams import filtered_lines, stream_names
from llm_fleet.cli.logs.parallelcluster_place import group_of, is_there, log_of, refuse_without_log
from llm_fleet.cli.logs.show_lines import follow, print_line
from llm_fleet.cli.place.place import Kind, Place

Lines = Iterable[tuple[str, LogLine]]


def follow_lines(clients: AwsClients, place: Place, asked: Asked, fits: Callable[[LogLine], bool]) -> NoReturn:
    """Print the lines that fit as they come, those of nodes that are still to come, too.

    Raises `FleetError` (LF1008, LF1121) where no fleet file says that there will be such a cluster and nothing of it is
    there, `AwsRefusal`.
    """
    look = _of_parallelcluster if place.kind is Kind.PARALLELCLUSTER else _of_hyperpod

    def show(line: LogLine) -> None:
        node, group = _who(line.stream, place)
        if asked.wants(node, group) and fits(line):
            print_line(line, node=node, as_json=asked.as_json)

    follow(look(clients, place, asked), show, since=asked.since)


def _of_hyperpod(clients: AwsClients, place: Place, asked: Asked) -> Callable[[datetime | None], Lines | None]:
    prefix = PREFIXES["lifecycle"] if asked.log is None else prefix_of(asked.log)
    if place.stack is None and _hyperpod_group(clients, place.name) is None:
        refuse_unknown(place.name, clients.region)

    def look(since: datetime | None) -> Lines | None:
        group = _hyperpod_group(clients, place.name)
        return None if group is None else filtered_lines(clients.logs, group, prefix=prefix, since=since)

    return look


def _hyperpod_group(clients: AwsClients, name: str) -> str | None:
    """Return the log group, whether it is there yet or not; `None` where there is no cluster, nor was one."""
    cluster = described(clients, name)
    return log_group_of(clients, name, cluster["ClusterArn"] if cluster else None)


def _of_parallelcluster(clients: AwsClients, place: Place, asked: Asked) -> Callable[[datetime | None], Lines | None]:
    if place.stack is None and group_of(clients, place.name) is None and not is_there(clients, place.name):
        refuse_without_log(place.name, clients.region)

    def look(since: datetime | None) -> Lines | None:
        group = group_of(clients, place.name)
        if group is None or asked.log is None:
            return None if group is None else filtered_lines(clients.logs, group, since=since)
        names = [name for name in stream_names(clients.logs, group) or () if log_of(name) == asked.log]
        return filtered_lines(clients.logs, group, names=names, since=since) if names else None

    return look


def _who(stream: str, place: Place) -> tuple[str, str]:
    """Return node and group of a stream by its name."""
    if place.kind is Kind.PARALLELCLUSTER:
        host, _, rest = stream.partition(".")
        return rest.partition(".")[0], host
    parts = stream.split("/", 2)
    return parts[-1], parts[1] if len(parts) > 2 else ""
