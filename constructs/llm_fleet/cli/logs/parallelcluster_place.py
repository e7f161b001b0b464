"""Where the starts of a ParallelCluster's nodes are told of."""

import re
from typing import NoReturn

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.logs.ask import ask
from llm_fleet.cli.logs.log_place import LogPlace, NodeStream
from llm_fleet.cli.logs.log_streams import newest_group, stream_names
from llm_fleet.cli.nodes.listed_nodes import list_nodes
from llm_fleet.cli.place.place import Kind, Place
from llm_fleet.rules.day_two.logs_codes import LogsCode
from llm_fleet.rules.problem import FleetError, Problem

_GROUPS = "/aws/parallelcluster"
_STREAM = re.compile(r"(?P<host>[^.]+)\.(?P<node>i-[0-9a-f]+)\.(?P<log>.+)")
_THERE = ("pending", "running")
_OF_STARTS = ("cfn-init", "cloud-init-output", "cloud-init")
"""Logs in which a node's start is told: of the head node the first, of others the second
(docs.aws.amazon.com/parallelcluster, `cloudwatch-logs-v3`)."""


def parallelcluster_place(clients: AwsClients, name: str) -> LogPlace:
    """Return what there is to read. Raises `FleetError` (LF1121) where there is nothing, `AwsRefusal`."""
    group = group_of(clients, name)
    if group is None:
        refuse_without_log(name, clients.region)
    names = stream_names(clients.logs, group) or []
    problems: list[Problem] = []
    nodes = ask(problems, lambda: _nodes(clients, name), {})
    streams = [_stream(one) for one in names if log_of(one) in _OF_STARTS]
    return LogPlace(
        group=group, streams=tuple(streams), nodes=nodes, knows_nodes=not problems, problems=tuple(problems)
    )


def refuse_without_log(name: str, region: str) -> NoReturn:
    """Refuse a cluster that nothing was heard of (LF1121)."""
    refuse(
        LogsCode.NO_LOG,
        "there is no log group of this cluster",
        f"see that it was deployed, in {region} and this account: its head node makes the group when it starts; "
        "`llm-fleet events` tells what its stack says",
        subject=f"cluster of ParallelCluster {name} in {region}",
    )


def is_there(clients: AwsClients, name: str) -> bool:
    """Return whether the cluster has instances. Raises `AwsRefusal`."""
    return bool(_nodes(clients, name))


def group_of(clients: AwsClients, name: str) -> str | None:
    """Return the newest group: `<cluster>-<time>`, the cluster's name with or without its hash."""
    form = re.compile(re.escape(f"{_GROUPS}/{name}") + r"(-[0-9a-f]{8})?-\d{12}")
    return newest_group(clients.logs, f"{_GROUPS}/{name}", form)


def log_of(stream: str) -> str | None:
    """Return which log a stream has, e.g. `slurmctld`."""
    found = _STREAM.fullmatch(stream)
    return found["log"] if found else None


def node_of(stream: str) -> str | None:
    """Return whose log a stream has, by instance id."""
    found = _STREAM.fullmatch(stream)
    return found["node"] if found else None


def streams_of(log: str, names: list[str]) -> list[str]:
    """Return the streams of a log. Raises `FleetError` (LF1123)."""
    fitting = [name for name in names if log_of(name) == log]
    if not fitting:
        logs = sorted({found for found in map(log_of, names) if found})
        refuse(
            LogsCode.LOG_UNKNOWN,
            "no node of this cluster has such a log in CloudWatch",
            f"write one of {', '.join(logs) or '(none: nothing was written yet)'}",
            subject="--log",
            value=log,
        )
    return fitting


def _stream(name: str) -> NodeStream:
    found = _STREAM.fullmatch(name)
    assert found is not None
    return NodeStream(node=found["node"], group=found["host"], name=name)


def _nodes(clients: AwsClients, name: str) -> dict[str, str]:
    """Return the queue or pool of every instance, `head` of the head node."""
    try:
        nodes = list_nodes(clients, Place(kind=Kind.PARALLELCLUSTER, name=name, region=None))
    except AwsRefusal:
        raise
    except FleetError:  # LF1100: none is left, and their logs are.
        return {}
    return {node.instance_id: node.group for node in nodes if node.instance_id and node.status in _THERE}
