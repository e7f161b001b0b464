"""Log groups and streams of clusters and services."""

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
    """A log stream with a node's start."""

    node: str
    group: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """The logs of one cluster."""

    group: str | None
    """Log group; `None` if it does not exist."""
    prefix: str = ""
    """Common prefix of the streams with starts; empty if they have none."""
    streams: tuple[NodeStream, ...] = ()
    """Streams with starts."""
    nodes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Current nodes, with their groups."""
    bundles: tuple[str, ...] = ()
    """URIs of the lifecycle bundles of the nodes."""
    remarks: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Calls that AWS refused."""
    knows_nodes: bool = True
    """Whether `nodes` is known; without it, deleted nodes cannot be recognized."""

    def lives(self, node: str) -> bool:
        """Return whether a node exists; `True` if the nodes are unknown."""
        return not self.knows_nodes or node in self.nodes


_HYPERPOD_GROUPS = "/aws/sagemaker/Clusters"
PREFIXES = {
    "lifecycle": "LifecycleConfig/",
    "health": "SagemakerHealthMonitoringAgent/",
    "deep-health": "DeepHealthCheckResults/",
}
"""Streams by kind of log (SageMaker's guide, `sagemaker-hyperpod-cluster-management-slurm`)."""


def described(clients: AwsClients, name: str) -> "DescribeClusterResponseTypeDef | None":
    """Return the response of DescribeCluster; `None` if the cluster does not exist."""
    with suppress(AwsGone), aws_errors_reported(f"HyperPod cluster {name}"):
        return clients.sagemaker.describe_cluster(ClusterName=name)


def nodes_of(clients: AwsClients, name: str) -> dict[str, str]:
    """Return the group of every node, by instance id."""
    place = Place(kind=Kind.HYPERPOD, name=name, region=None)
    return {node.instance_id: node.group for node in listing_of(clients, place).nodes if node.instance_id}


def log_group_of(clients: AwsClients, name: str, cluster_arn: str | None) -> str | None:
    """Return the cluster's log group; of a deleted cluster, the newest log group of a cluster with that name."""
    if cluster_arn is not None:
        return f"{_HYPERPOD_GROUPS}/{name}/{cluster_arn.rpartition('/')[2]}"
    form = re.compile(re.escape(f"{_HYPERPOD_GROUPS}/{name}/") + "[a-z0-9]{12}")
    return newest_group(clients.logs, f"{_HYPERPOD_GROUPS}/{name}/", form)


def hyperpod_place(clients: AwsClients, name: str) -> LogPlace:
    """Return the logs. Raises `AwsRefusal`, or `FleetError` (LF1008) if there are none."""
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
        remarks.append(f"the cluster was deleted; this is from its log group {group}")
    if names is None:
        remarks.append(
            f"the log group {group} does not exist: no node has written to CloudWatch yet, or it was deleted"
        )
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
    """Refuse a cluster that does not exist and has no logs (LF1008)."""
    refuse(
        CommandCode.GONE,
        "the cluster does not exist and has no logs",
        f"check that it was deployed in {region} and this account; `aws sagemaker list-clusters --region {region}` "
        "lists the clusters, and `llm-fleet events` shows why a stack was rolled back",
        subject=f"HyperPod cluster {name} in {region}",
    )


def prefix_of(log: str) -> str:
    """Return the stream prefix of a log. Raises `FleetError` (LF1123)."""
    if log not in PREFIXES:
        refuse(
            LogsCode.LOG_UNKNOWN,
            "a HyperPod cluster does not have this log",
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
"""Logs with a node's start: the first for the head node, the second for other nodes
(docs.aws.amazon.com/parallelcluster, `cloudwatch-logs-v3`)."""


def parallelcluster_place(clients: AwsClients, name: str) -> LogPlace:
    """Return the logs. Raises `AwsRefusal`, or `FleetError` (LF1121) if there are none."""
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
    """Refuse a cluster without a log group (LF1121)."""
    refuse(
        LogsCode.NO_LOG,
        "this cluster has no log group",
        f"check that it was deployed in {region} and this account: its head node creates the log group when it starts; "
        "`llm-fleet events` shows the events of its stack",
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
    """Return the log of a stream, e.g. `slurmctld`."""
    found = _STREAM.fullmatch(stream)
    return found["log"] if found else None


def node_of(stream: str) -> str | None:
    """Return the instance id of a stream."""
    found = _STREAM.fullmatch(stream)
    return found["node"] if found else None


def streams_of(log: str, names: list[str]) -> list[str]:
    """Return the streams of a log. Raises `FleetError` (LF1123)."""
    fitting = [name for name in names if log_of(name) == log]
    if not fitting:
        logs = sorted({found for found in map(log_of, names) if found})
        refuse(
            LogsCode.LOG_UNKNOWN,
            "no node of this cluster has this log in CloudWatch",
            f"write one of {', '.join(logs) or '(none: no log was written yet)'}",
            subject="--log",
            value=log,
        )
    return fitting


def _parallelcluster_stream(name: str) -> NodeStream:
    found = _STREAM.fullmatch(name)
    assert found is not None
    return NodeStream(node=found["node"], group=found["host"], name=name)


def _nodes(clients: AwsClients, name: str) -> dict[str, str]:
    """Return the queue or login pool of every instance, `head` for the head node."""
    try:
        nodes = listing_of(clients, Place(kind=Kind.PARALLELCLUSTER, name=name, region=None)).nodes
    except AwsRefusal:
        raise
    except FleetError:  # LF1100: no instance is left, but their logs are.
        return {}
    return {node.instance_id: node.group for node in nodes if node.instance_id and node.status in _THERE}


_PREFIX = "/llm-fleet/inference"
HOSTS = "host/"
"""Streams with the starts of hosts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedTask:
    """A stopped task."""

    task: str
    stopped: datetime | None
    code: str
    """ECS's stop code, e.g. `EssentialContainerExited`."""
    reason: str
    containers: tuple[str, ...]
    """`<name>: exit code 137, OutOfMemoryError…`, for containers that did not end with 0."""

    @property
    def is_well(self) -> bool:
        """Whether it stopped without an error."""
        return self.code in ("ServiceSchedulerInitiated", "UserInitiated")

    @property
    def why(self) -> str:
        """The reason why it stopped, and the exit codes of its containers."""
        return "; ".join([self.reason, *self.containers])


def service_log_group_of(service: str) -> str:
    """Return the log group of a service."""
    return f"{_PREFIX}/{service}"


def stopped_tasks(clients: AwsClients, service: str, *, since: datetime | None = None) -> list[StoppedTask]:
    """Return the service's stopped tasks, the newest first: ECS keeps them for an hour, the log for longer.

    Raises `AwsRefusal`.
    """
    found = {**_in_log(clients, service, since), **_in_ecs(clients, service)}
    recent = [task for task in found.values() if since is None or task.stopped is None or task.stopped >= since]
    return sorted(recent, key=lambda task: task.stopped.timestamp() if task.stopped else 0.0, reverse=True)


def _in_ecs(clients: AwsClients, service: str) -> dict[str, StoppedTask]:
    """Return the tasks of the last hour; none of a deleted service."""
    tasks: list[Any] = []
    with suppress(AwsGone), aws_errors_reported(f"tasks of inference service {service}"):
        lists = clients.ecs.get_paginator("list_tasks")
        # DescribeTasks takes as many tasks as one page has.
        for page in lists.paginate(cluster=service, serviceName=service, desiredStatus="STOPPED"):
            if page["taskArns"]:
                tasks += clients.ecs.describe_tasks(cluster=service, tasks=page["taskArns"])["tasks"]
    return {task["taskArn"]: _task(task) for task in tasks}


def _in_log(clients: AwsClients, service: str, since: datetime | None) -> dict[str, StoppedTask]:
    """Return the tasks that EventBridge has written to the service's log; none without a log."""
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
