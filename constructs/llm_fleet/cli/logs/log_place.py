"""Where a cluster's and a service's logs are."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from llm_fleet.cli.clients import AwsClients, AwsGone, AwsRefusal, aws_errors_reported
from llm_fleet.cli.logs.log_streams import ask, filtered_lines, newest_group, stream_names
from llm_fleet.cli.nodes.list_nodes import listing_of
from llm_fleet.cli.place import Kind, Place
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import CommandCode, LogsCode
from llm_fleet.rules.problem import FleetError, Problem

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import DescribeClusterResponseTypeDef


LogNames = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStream:
    """A stream in which a node's start is told."""

    node: str
    group: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """What there is to read of one cluster."""

    group: str | None
    """Log group; `None` where there is none yet, or no longer."""
    prefix: str = ""
    """What the names of streams with starts begin with; empty where they have nothing in common."""
    streams: tuple[NodeStream, ...] = ()
    """Of starts."""
    nodes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Nodes that there are now, with their groups."""
    bundles: tuple[str, ...] = ()
    """URIs of the bundles that the nodes run."""
    remarks: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What AWS would not tell."""
    knows_nodes: bool = True
    """Whether `nodes` was told; without it nobody knows which of the streams' nodes are gone."""

    def lives(self, node: str) -> bool:
        """Return whether a node is there, as far as anybody knows."""
        return not self.knows_nodes or node in self.nodes


_HYPERPOD_GROUPS = "/aws/sagemaker/Clusters"
PREFIXES = {
    "lifecycle": "LifecycleConfig/",
    "health": "SagemakerHealthMonitoringAgent/",
    "deep-health": "DeepHealthCheckResults/",
}
"""Streams by kind of log (SageMaker's guide, `sagemaker-hyperpod-cluster-management-slurm`)."""


def described(clients: AwsClients, name: str) -> "DescribeClusterResponseTypeDef | None":
    """Return what DescribeCluster tells; `None` where the cluster is gone."""
    with suppress(AwsGone), aws_errors_reported(f"HyperPod cluster {name}"):
        return clients.sagemaker.describe_cluster(ClusterName=name)


def nodes_of(clients: AwsClients, name: str) -> dict[str, str]:
    """Return the group of every node, by instance id."""
    place = Place(kind=Kind.HYPERPOD, name=name, region=None)
    return {node.instance_id: node.group for node in listing_of(clients, place).nodes if node.instance_id}


def log_group_of(clients: AwsClients, name: str, cluster_arn: str | None) -> str | None:
    """Return the cluster's log group: of one that is gone, the last cluster's of that name which left one."""
    if cluster_arn is not None:
        return f"{_HYPERPOD_GROUPS}/{name}/{cluster_arn.rpartition('/')[2]}"
    form = re.compile(re.escape(f"{_HYPERPOD_GROUPS}/{name}/") + "[a-z0-9]{12}")
    return newest_group(clients.logs, f"{_HYPERPOD_GROUPS}/{name}/", form)


def hyperpod_place(clients: AwsClients, name: str) -> LogPlace:
    """Return what there is to read. Raises `FleetError` (LF1008) where there is nothing, `AwsRefusal`."""
    problems: list[Problem] = []
    cluster = ask(problems, lambda: described(clients, name), None)
    hidden = bool(problems)
    group = log_group_of(clients, name, None if cluster is None else cluster["ClusterArn"])
    if hidden and group is None:
        raise AwsRefusal(problems, subject=f"HyperPod cluster {name}")
    if cluster is None and group is None:
        refuse_unknown(name, clients.region)
    remarks: list[str] = []
    names: list[str] | None = None
    if group:
        names = ask(problems, lambda: stream_names(clients.logs, group, PREFIXES["lifecycle"]), [])
    if cluster is None and not hidden:
        remarks.append(f"the cluster is gone; this is what its log {group} has kept")
    if names is None:
        remarks.append(f"there is no log group {group}: no node has written to CloudWatch yet, or somebody deleted it")
    before = len(problems)
    nodes: dict[str, str] = ask(problems, lambda: nodes_of(clients, name), {}) if cluster else {}
    groups: list[Any] = [] if cluster is None else cluster["InstanceGroups"]
    return LogPlace(
        group=group if names is not None else None,
        prefix=PREFIXES["lifecycle"],
        streams=tuple(_hyperpod_stream(one) for one in names or () if one.count("/") >= 2),
        nodes=nodes,
        knows_nodes=not hidden and len(problems) == before,
        problems=tuple(problems),
        bundles=tuple(
            str(one["LifeCycleConfig"]["SourceS3Uri"])
            for one in groups
            if one.get("LifeCycleConfig", {}).get("SourceS3Uri")
        ),
        remarks=tuple(remarks),
    )


def refuse_unknown(name: str, region: str) -> NoReturn:
    """Refuse a cluster of which there is nothing (LF1008)."""
    refuse(
        CommandCode.GONE,
        "there is no such cluster, and no log of one",
        f"see that it was deployed, in {region} and this account; `aws sagemaker list-clusters --region {region}` "
        "lists what there is, and `llm-fleet events` tells why a stack was rolled back",
        subject=f"HyperPod cluster {name} in {region}",
    )


def prefix_of(log: str) -> str:
    """Return what streams of a kind of log begin with. Raises `FleetError` (LF1123)."""
    if log not in PREFIXES:
        refuse(
            LogsCode.LOG_UNKNOWN,
            "a HyperPod cluster has no such log",
            f"write one of {', '.join(PREFIXES)}",
            subject="--log",
            value=log,
        )
    return PREFIXES[log]


def _hyperpod_stream(name: str) -> NodeStream:
    _, group, node = name.split("/", 2)
    return NodeStream(node=node, group=group, name=name)


_PARALLELCLUSTER_GROUPS = "/aws/parallelcluster"
_STREAM = re.compile(r"(?P<host>[^.]+)\.(?P<node>i-[0-9a-f]+)\.(?P<log>.+)")
_THERE = ("pending", "running")
_OF_STARTS = ("cfn-init", "cloud-init-output", "cloud-init")
"""Logs in which a node's start is told: of the head node the first, of others the second
(docs.aws.amazon.com/parallelcluster, `cloudwatch-logs-v3`)."""


def parallelcluster_place(clients: AwsClients, name: str) -> LogPlace:
    """Return what there is to read. Raises `FleetError` (LF1121) where there is nothing, `AwsRefusal`."""
    group = cluster_log_group_of(clients, name)
    if group is None:
        refuse_without_log(name, clients.region)
    names = stream_names(clients.logs, group) or []
    problems: list[Problem] = []
    nodes = ask(problems, lambda: _nodes(clients, name), {})
    streams = [_parallelcluster_stream(one) for one in names if log_of(one) in _OF_STARTS]
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


def cluster_log_group_of(clients: AwsClients, name: str) -> str | None:
    """Return the newest group: `<cluster>-<time>`, the cluster's name with or without its hash."""
    form = re.compile(re.escape(f"{_PARALLELCLUSTER_GROUPS}/{name}") + r"(-[0-9a-f]{8})?-\d{12}")
    return newest_group(clients.logs, f"{_PARALLELCLUSTER_GROUPS}/{name}", form)


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


def _parallelcluster_stream(name: str) -> NodeStream:
    found = _STREAM.fullmatch(name)
    assert found is not None
    return NodeStream(node=found["node"], group=found["host"], name=name)


def _nodes(clients: AwsClients, name: str) -> dict[str, str]:
    """Return the queue or pool of every instance, `head` of the head node."""
    try:
        nodes = listing_of(clients, Place(kind=Kind.PARALLELCLUSTER, name=name, region=None)).nodes
    except AwsRefusal:
        raise
    except FleetError:  # LF1100: none is left, and their logs are.
        return {}
    return {node.instance_id: node.group for node in nodes if node.instance_id and node.status in _THERE}


_PREFIX = "/llm-fleet/inference"
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

    @property
    def is_well(self) -> bool:
        """Whether nothing was wrong with it."""
        return self.code in ("ServiceSchedulerInitiated", "UserInitiated")

    @property
    def why(self) -> str:
        """Why it stopped, and how its containers ended."""
        return "; ".join([self.reason, *self.containers])


def service_log_group_of(service: str) -> str:
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
    tasks: list[Any] = []
    with suppress(AwsGone), aws_errors_reported(f"tasks of inference service {service}"):
        lists = clients.ecs.get_paginator("list_tasks")
        # A page has no more tasks than DescribeTasks takes.
        for page in lists.paginate(cluster=service, serviceName=service, desiredStatus="STOPPED"):
            if page["taskArns"]:
                tasks += clients.ecs.describe_tasks(cluster=service, tasks=page["taskArns"])["tasks"]
    return {task["taskArn"]: _task(task) for task in tasks}


def _in_log(clients: AwsClients, service: str, since: datetime | None) -> dict[str, StoppedTask]:
    """Return those that EventBridge has written into the service's log; none where there is no log."""
    found: dict[str, StoppedTask] = {}
    with suppress(AwsGone):
        for _, line in filtered_lines(clients.logs, service_log_group_of(service), terms=("STOPPED",), since=since):
            detail = _detail(line.text)
            if detail and detail.get("lastStatus") == "STOPPED":
                found[str(detail.get("taskArn"))] = _task(detail)
    return found


def _detail(text: str) -> Mapping[str, Any] | None:
    try:
        event: Any = json.loads(text)
    except ValueError:
        return None
    return event.get("detail") if isinstance(event, dict) and event.get("source") == "aws.ecs" else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]


def _task(reported: Mapping[str, Any]) -> StoppedTask:
    return StoppedTask(
        task=str(reported.get("taskArn")).rpartition("/")[2],
        stopped=_time(reported.get("stoppedAt")),
        code=str(reported.get("stopCode") or "unknown"),
        reason=str(reported.get("stoppedReason") or "ECS gives no reason"),
        containers=tuple(
            _ended(one) for one in reported.get("containers", ()) if one.get("exitCode") or one.get("reason")
        ),
    )


def _ended(container: Mapping[str, Any]) -> str:
    code, reason = container.get("exitCode"), container.get("reason")
    words = [f"exit code {code}"] if code is not None else []
    return f"{container.get('name')}: " + ", ".join([*words, *([str(reason)] if reason else [])])


def _time(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    return datetime.fromisoformat(value) if isinstance(value, str) else None
