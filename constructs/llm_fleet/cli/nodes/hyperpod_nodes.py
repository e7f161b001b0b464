"""Lists the nodes of a HyperPod cluster.

ListClusterNodes tells names of the form `ip-10-1-2-3`, which hold the address; DescribeClusterNode would tell more, one
node a call, and is not asked: 2,000 nodes would take 2,000 calls.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from llm_fleet.catalog.aws_api import api_rate, page_size
from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import told_of_aws
from llm_fleet.cli.nodes.launch_order import in_launch_order
from llm_fleet.cli.nodes.listing import GroupCount, Listing
from llm_fleet.cli.nodes.node import Node, NodeRole
from llm_fleet.cli.nodes.pace import Pace
from llm_fleet.cli.nodes.told import Told, part
from llm_fleet.cli.place.place import Place

_CALL = "list_cluster_nodes"
_HOST = re.compile(r"ip-(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})")
_RUNNING = "Running"
_EKS = "EKS orchestrates this cluster, not Slurm: `kubectl get nodes` shows Kubernetes' view"
_WORDS = {"controller": NodeRole.CONTROLLER, "login": NodeRole.LOGIN}
"""Where nobody tells what a group is for, its name may."""


def hyperpod_listing(
    clients: AwsClients, place: Place, *, roles: Mapping[str, NodeRole], seen: Callable[[int], None]
) -> Listing:
    """Return the cluster's nodes. Raises `AwsRefusal`."""
    with told_of_aws(str(place)):
        cluster = cast("Told", clients.sagemaker.describe_cluster(ClusterName=place.name))
        groups: list[Told] = [*cluster.get("InstanceGroups", []), *cluster.get("RestrictedInstanceGroups", [])]
        summaries = _summaries(clients, place.name, _wants_unlaunched(cluster), seen)
    cluster_id = str(cluster["ClusterArn"]).rpartition("/")[2]
    known = {str(group["InstanceGroupName"]): _role(group, roles) for group in groups}
    nodes = [_node(one, cluster_id, known) for one in summaries]
    by_eks = "Eks" in part(cluster, "Orchestrator")
    return Listing(
        nodes=in_launch_order(nodes),
        name=str(cluster.get("ClusterName", place.name)),
        status=str(cluster.get("ClusterStatus", "")),
        message=str(cluster.get("FailureMessage") or ""),
        note=_EKS if by_eks else "",
        has_slurm=not by_eks,
        counts=tuple(_count(group) for group in groups if "TargetCount" in group),
    )


def _wants_unlaunched(cluster: Told) -> dict[str, Any]:
    """Return what makes the service tell of nodes that have no machine yet: only `Continuous` knows such."""
    return {"IncludeNodeLogicalIds": True} if cluster.get("NodeProvisioningMode") == "Continuous" else {}


def _summaries(clients: AwsClients, name: str, more: Mapping[str, Any], seen: Callable[[int], None]) -> list[Told]:
    pace = Pace(api_rate(_CALL))
    found: list[Told] = []
    token: dict[str, Any] = {}
    while True:
        pace.take()
        page = cast(
            "Told",
            clients.sagemaker.list_cluster_nodes(ClusterName=name, MaxResults=page_size(_CALL), **more, **token),
        )
        found += page["ClusterNodeSummaries"]
        seen(len(found))
        if not page.get("NextToken"):
            return found
        token = {"NextToken": page["NextToken"]}


def _role(group: Told, roles: Mapping[str, NodeRole]) -> NodeRole | None:
    """Return what a group is for: by AWS, else by the fleet file, else by its name."""
    name = str(group["InstanceGroupName"])
    told = str(part(group, "SlurmConfig").get("NodeType", "")).lower()
    if told in set(NodeRole):
        return NodeRole(told)
    if name in roles:
        return roles[name]
    return next((role for word, role in _WORDS.items() if word in name.lower()), None)


def _count(group: Told) -> GroupCount:
    """Return the counts of a group that has `TargetCount`, which is optional in the service's model.

    `TargetStateCount` does not stand in for it: it counts the nodes that run the wanted image (botocore's model).
    """
    wanted, current = int(group["TargetCount"]), int(group.get("CurrentCount", 0))
    return GroupCount(group=str(group["InstanceGroupName"]), current=current, wanted=wanted)


def _node(told: Told, cluster_id: str, roles: Mapping[str, NodeRole | None]) -> Node:
    group = str(told["InstanceGroupName"])
    instance_id = str(told.get("InstanceId") or "") or None
    status: Told = part(told, "InstanceStatus")
    host = str(told.get("PrivateDnsHostname") or "").partition(".")[0]
    found = _HOST.fullmatch(host)
    return Node(
        group=group,
        index=0,
        role=roles.get(group),
        instance_id=instance_id,
        logical_id=told.get("NodeLogicalId"),
        name=host or None,
        status=str(status.get("Status", "")),
        running=status.get("Status") == _RUNNING,
        message=str(status.get("Message") or ""),
        instance_type=told.get("InstanceType"),
        launched=told.get("LaunchTime"),
        address=".".join(found.groups()) if found else None,
        target=f"sagemaker-cluster:{cluster_id}_{group}-{instance_id}" if instance_id else None,
    )
