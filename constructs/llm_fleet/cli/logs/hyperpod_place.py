"""Where the starts of a HyperPod cluster's nodes are told of."""

import re
from typing import TYPE_CHECKING, Any, NoReturn

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import AwsRefusal, told_of_aws
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.logs.ask import ask
from llm_fleet.cli.logs.log_place import LogPlace, NodeStream
from llm_fleet.cli.logs.log_streams import newest_group, stream_names
from llm_fleet.cli.nodes.listed_nodes import list_nodes
from llm_fleet.cli.place.place import Kind, Place
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.day_two.logs_codes import LogsCode
from llm_fleet.rules.problem import Problem

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import DescribeClusterResponseTypeDef

_GROUPS = "/aws/sagemaker/Clusters"
PREFIXES = {
    "lifecycle": "LifecycleConfig/",
    "health": "SagemakerHealthMonitoringAgent/",
    "deep-health": "DeepHealthCheckResults/",
}
"""Streams by kind of log (SageMaker's guide, `sagemaker-hyperpod-cluster-management-slurm`)."""


def described(clients: AwsClients, name: str) -> "DescribeClusterResponseTypeDef | None":
    """Return what DescribeCluster tells; `None` where the cluster is gone."""
    try:
        with told_of_aws(f"HyperPod cluster {name}"):
            return clients.sagemaker.describe_cluster(ClusterName=name)
    except AwsRefusal as refused:
        if refused.code is CommandCode.GONE:
            return None
        raise


def nodes_of(clients: AwsClients, name: str) -> dict[str, str]:
    """Return the group of every node, by instance id."""
    place = Place(kind=Kind.HYPERPOD, name=name, region=None)
    return {node.instance_id: node.group for node in list_nodes(clients, place) if node.instance_id}


def log_group_of(clients: AwsClients, name: str, cluster_arn: str | None) -> str | None:
    """Return the cluster's log group: of one that is gone, the last cluster's of that name which left one."""
    if cluster_arn is not None:
        return f"{_GROUPS}/{name}/{cluster_arn.rpartition('/')[2]}"
    form = re.compile(re.escape(f"{_GROUPS}/{name}/") + "[a-z0-9]{12}")
    return newest_group(clients.logs, f"{_GROUPS}/{name}/", form)


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
        streams=tuple(_stream(one) for one in names or () if one.count("/") >= 2),
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


def _stream(name: str) -> NodeStream:
    _, group, node = name.split("/", 2)
    return NodeStream(node=node, group=group, name=name)
