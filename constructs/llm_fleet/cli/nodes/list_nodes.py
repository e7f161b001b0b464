"""Lists the nodes of a HyperPod cluster, of a ParallelCluster and of a service.

ListClusterNodes returns names of the form `ip-10-1-2-3`, which contain the address. DescribeClusterNode returns more,
but is not called: 2,000 nodes would take 2,000 calls.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn, cast

from llm_fleet.catalog.aws_api import api_rate, page_size
from llm_fleet.cli.clients import AwsClients, aws_errors_reported
from llm_fleet.cli.nodes.node import (
    GroupCount,
    Listing,
    Node,
    NodeRole,
    Pace,
    Reported,
    in_launch_order,
    part,
    roles_of_place,
    wanted_node,
)
from llm_fleet.cli.place import Kind, Place
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import CommandCode, NodesCode

if TYPE_CHECKING:
    from llm_fleet.fleet_file.fleet import Fleet

_HYPERPOD_CALL = "list_cluster_nodes"
_HOST = re.compile(r"ip-(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})")
_RUNNING = "Running"
_EKS = "this cluster uses EKS, not Slurm: run `kubectl get nodes` for the state in Kubernetes"
_WORDS = {"controller": NodeRole.CONTROLLER, "login": NodeRole.LOGIN}
"""Names of groups whose role is not known otherwise."""


def hyperpod_listing(
    clients: AwsClients, place: Place, *, roles: Mapping[str, NodeRole], seen: Callable[[int], None]
) -> Listing:
    """Return the cluster's nodes. Raises `AwsRefusal`."""
    with aws_errors_reported(str(place)):
        cluster = cast("Reported", clients.sagemaker.describe_cluster(ClusterName=place.name))
        groups: list[Reported] = [*cluster.get("InstanceGroups", []), *cluster.get("RestrictedInstanceGroups", [])]
        summaries = _summaries(clients, place.name, _wants_unlaunched(cluster), seen)
    cluster_id = str(cluster["ClusterArn"]).rpartition("/")[2]
    known = {str(group["InstanceGroupName"]): _role(group, roles) for group in groups}
    nodes = [_hyperpod_node(one, cluster_id, known) for one in summaries]
    by_eks = "Eks" in part(cluster, "Orchestrator")
    return Listing(
        nodes=in_launch_order(nodes),
        name=str(cluster.get("ClusterName", place.name)),
        status=str(cluster.get("ClusterStatus", "")),
        message=str(cluster.get("FailureMessage") or ""),
        note=_EKS if by_eks else "",
        has_slurm=not by_eks,
        counts=tuple(_hyperpod_count(group) for group in groups if "TargetCount" in group),
    )


def _wants_unlaunched(cluster: Reported) -> dict[str, Any]:
    """Return the parameter that includes nodes without an instance, which exist only with `Continuous`."""
    return {"IncludeNodeLogicalIds": True} if cluster.get("NodeProvisioningMode") == "Continuous" else {}


def _summaries(clients: AwsClients, name: str, more: Mapping[str, Any], seen: Callable[[int], None]) -> list[Reported]:
    request = {"ClusterName": name, "MaxResults": page_size(_HYPERPOD_CALL), **more}
    found: list[Reported] = []
    for page in _pages(Pace(api_rate(_HYPERPOD_CALL)), clients.sagemaker.list_cluster_nodes, request, "NextToken"):
        found += page["ClusterNodeSummaries"]
        seen(len(found))
    return found


def _pages(pace: Pace, call: Callable[..., Any], request: Mapping[str, Any], token: str) -> Iterator[Reported]:
    """Yield the pages of a response by its `token`; botocore's paginators do not wait between pages."""
    more: dict[str, Any] = {}
    while True:
        pace.take()
        page: Reported = call(**request, **more)
        yield page
        if not page.get(token):
            return
        more = {token: page[token]}


def _role(group: Reported, roles: Mapping[str, NodeRole]) -> NodeRole | None:
    """Return the role of a group: from AWS, else from the fleet file, else from its name."""
    name = str(group["InstanceGroupName"])
    reported = str(part(group, "SlurmConfig").get("NodeType", "")).lower()
    if reported in set(NodeRole):
        return NodeRole(reported)
    if name in roles:
        return roles[name]
    return next((role for word, role in _WORDS.items() if word in name.lower()), None)


def _hyperpod_count(group: Reported) -> GroupCount:
    """Return the counts of a group that has `TargetCount`, which is optional in the service's model.

    `TargetStateCount` is no replacement: it counts the nodes that run the target image (botocore's model).
    """
    wanted, current = int(group["TargetCount"]), int(group.get("CurrentCount", 0))
    return GroupCount(group=str(group["InstanceGroupName"]), current=current, wanted=wanted)


def _hyperpod_node(reported: Reported, cluster_id: str, roles: Mapping[str, NodeRole | None]) -> Node:
    group = str(reported["InstanceGroupName"])
    instance_id = str(reported.get("InstanceId") or "") or None
    status: Reported = part(reported, "InstanceStatus")
    host = str(reported.get("PrivateDnsHostname") or "").partition(".")[0]
    found = _HOST.fullmatch(host)
    return Node(
        group=group,
        index=0,
        role=roles.get(group),
        instance_id=instance_id,
        logical_id=reported.get("NodeLogicalId"),
        name=host or None,
        status=str(status.get("Status", "")),
        running=status.get("Status") == _RUNNING,
        message=str(status.get("Message") or ""),
        instance_type=reported.get("InstanceType"),
        launched=reported.get("LaunchTime"),
        address=".".join(found.groups()) if found else None,
        target=f"sagemaker-cluster:{cluster_id}_{group}-{instance_id}" if instance_id else None,
    )


_PARALLELCLUSTER_CALL = "describe_instances"
_CLUSTER = "parallelcluster:cluster-name"
_TYPE = "parallelcluster:node-type"
_QUEUE = "parallelcluster:queue-name"
_POOL = "parallelcluster:login-nodes-pool"
_ROLES = {"HeadNode": NodeRole.HEAD, "Compute": NodeRole.COMPUTE, "LoginNode": NodeRole.LOGIN}
_THERE = ["pending", "running", "shutting-down", "stopping", "stopped"]


def parallelcluster_listing(clients: AwsClients, place: Place, *, seen: Callable[[int], None]) -> Listing:
    """Return the cluster's nodes. Raises `AwsRefusal`, or `FleetError` (LF1100) if there are none."""
    with aws_errors_reported(str(place)):
        instances = _instances(clients, place.name, seen)
    if not instances:
        refuse(
            NodesCode.NO_NODES,
            "the cluster has no instances in this Region",
            "check that it is deployed, and check --region; "
            f"`aws ec2 describe-instances --region {clients.region} --filters Name=tag-key,Values={_CLUSTER}` lists "
            "the instances of all clusters",
            subject=str(place),
        )
    name = _newest(instances)
    nodes = [_parallelcluster_node(one) for one in instances if _tags(one).get(_CLUSTER) == name]
    return Listing(nodes=in_launch_order(nodes), name=name)


def _instances(clients: AwsClients, name: str, seen: Callable[[int], None]) -> list[Reported]:
    # The name ends in eight digits of a hash that only a synth can calculate.
    filters = [
        {"Name": f"tag:{_CLUSTER}", "Values": [name, f"{name}-????????"]},
        {"Name": "instance-state-name", "Values": _THERE},
    ]
    request = {"Filters": filters, "MaxResults": page_size(_PARALLELCLUSTER_CALL)}
    found: list[Reported] = []
    for page in _pages(Pace(api_rate(_PARALLELCLUSTER_CALL)), clients.ec2.describe_instances, request, "NextToken"):
        found += [one for reservation in page["Reservations"] for one in reservation.get("Instances", [])]
        seen(len(found))
    return found


def _newest(instances: list[Reported]) -> str:
    """Return the name of the cluster; during a replacement, that of the new one."""
    heads = [one for one in instances if _tags(one).get(_TYPE) == "HeadNode"]
    return _tags(max(heads or instances, key=lambda one: one["LaunchTime"]))[_CLUSTER]


def _tags(instance: Reported) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}


def _parallelcluster_node(reported: Reported) -> Node:
    tags = _tags(reported)
    role = _ROLES.get(tags.get(_TYPE, ""))
    state = str(reported["State"]["Name"])
    running = state == "running"
    return Node(
        group=tags.get(_QUEUE) or tags.get(_POOL) or str(role or "node"),
        index=0,
        role=role,
        instance_id=reported["InstanceId"],
        status=state,
        running=running,
        message="" if running else str(part(reported, "StateReason").get("Message", "")),
        instance_type=reported.get("InstanceType"),
        launched=reported.get("LaunchTime"),
        zone=part(reported, "Placement").get("AvailabilityZone"),
        address=reported.get("PrivateIpAddress"),
        target=reported["InstanceId"] if running else None,
    )


_SERVICE_CALL = "list_ecs"
_INTERFACE = "ElasticNetworkInterface"


def service_listing(clients: AwsClients, place: Place, *, seen: Callable[[int], None]) -> Listing:
    """Return the hosts and tasks of the service. Its ECS cluster has its name.

    Raises `AwsRefusal`, or `FleetError` (LF1008) if neither the service nor a host of it exists.
    """
    name = place.name
    requested = _Ecs(clients, name)
    services = living_services(clients, place)
    with aws_errors_reported(str(place)):
        hosts = requested.all("list_container_instances", "containerInstanceArns", "describe_container_instances")
        # ECS refuses to list the tasks of a service that does not exist, but its hosts may exist already.
        tasks = requested.all("list_tasks", "taskArns", "describe_tasks", serviceName=name) if services else []
        machines = _machines(clients, [str(one["ec2InstanceId"]) for one in hosts if one.get("ec2InstanceId")])
    if not (services or hosts or tasks):
        refuse_gone(place)
    seen(len(hosts) + len(tasks))
    where = {str(one["containerInstanceArn"]): str(one.get("ec2InstanceId", "")) for one in hosts}
    nodes = [_host(one, machines.get(str(one.get("ec2InstanceId")), {})) for one in hosts]
    nodes += [_task(one, where) for one in tasks]
    service: Reported = services[0] if services else {}
    return Listing(
        nodes=in_launch_order(nodes),
        name=name,
        status=str(service.get("status", "")),
        message=_last_event(service),
        has_slurm=False,
        counts=tuple(
            GroupCount(group=str(NodeRole.TASK), current=one["runningCount"], wanted=one["desiredCount"])
            for one in services[:1]
        ),
    )


def living_services(clients: AwsClients, place: Place) -> list[Reported]:
    """Return ECS's description of the service in a list, empty if it does not exist. Raises `AwsRefusal`."""
    with aws_errors_reported(str(place)):
        answer = cast("Reported", clients.ecs.describe_services(cluster=place.name, services=[place.name]))
    # ECS still returns a deleted service for a while.
    return [one for one in answer["services"] if one.get("status") != "INACTIVE"]


def refuse_gone(place: Place) -> NoReturn:
    """Refuse a service that does not exist (LF1008)."""
    refuse(
        CommandCode.GONE,
        "the service does not exist",
        "check that it is deployed in this Region and account; `llm-fleet events` shows why a stack was rolled back",
        subject=str(place),
    )


class _Ecs:
    """Lists and describes resources of ECS, page by page."""

    def __init__(self, clients: AwsClients, cluster: str) -> None:
        self._client: Any = clients.ecs
        self._cluster = cluster
        self._pace = Pace(api_rate(_SERVICE_CALL))

    def all(self, lists: str, arns: str, describes: str, **more: str) -> list[Reported]:
        """Return the results of the operation `describes` for all ids of the operation `lists`."""
        key = arns.removesuffix("Arns") + "s"
        request = {"cluster": self._cluster, "maxResults": page_size(_SERVICE_CALL), **more}
        found: list[Reported] = []
        for page in _pages(self._pace, getattr(self._client, lists), request, "nextToken"):
            if page[arns]:
                self._pace.take()
                found += getattr(self._client, describes)(cluster=self._cluster, **{key: page[arns]})[key]
        return found


def _machines(clients: AwsClients, ids: Sequence[str]) -> dict[str, Reported]:
    """Return EC2's descriptions of the hosts by id, without terminated ones."""
    if not ids:
        return {}
    pages = clients.ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "instance-id", "Values": list(ids)}]
    )
    found = [one for page in pages for reservation in page["Reservations"] for one in reservation.get("Instances", [])]
    return {str(one.get("InstanceId")): cast("Reported", one) for one in found}


def _last_event(service: Reported) -> str:
    """Return ECS's message about missing tasks; empty if none is missing."""
    if not service or service["runningCount"] >= service["desiredCount"]:
        return ""
    events: Sequence[Reported] = service.get("events", [])
    return str(events[0]["message"]) if events else ""


def _host(reported: Reported, machine: Reported) -> Node:
    attributes = {one["name"]: one.get("value", "") for one in reported.get("attributes", [])}
    connected = bool(reported.get("agentConnected"))
    status = str(reported.get("status", ""))
    return Node(
        group=str(NodeRole.HOST),
        index=0,
        role=NodeRole.HOST,
        instance_id=reported.get("ec2InstanceId"),
        status=status,
        running=status == "ACTIVE" and connected,
        message=str(reported.get("statusReason") or "") or ("" if connected else "the ECS agent is not connected"),
        instance_type=machine.get("InstanceType") or attributes.get("ecs.instance-type"),
        launched=machine.get("LaunchTime") or reported.get("registeredAt"),
        zone=part(machine, "Placement").get("AvailabilityZone") or attributes.get("ecs.availability-zone"),
        address=machine.get("PrivateIpAddress"),
        target=reported.get("ec2InstanceId"),
    )


def _task(reported: Reported, where: Mapping[str, str]) -> Node:
    arn = str(reported["taskArn"])
    details = {
        detail["name"]: detail.get("value", "")
        for attachment in reported.get("attachments", [])
        if attachment.get("type") == _INTERFACE
        for detail in attachment.get("details", [])
    }
    status = str(reported.get("lastStatus", ""))
    health = str(reported.get("healthStatus", ""))
    launched: datetime | None = reported.get("startedAt") or reported.get("createdAt")
    return Node(
        group=str(NodeRole.TASK),
        index=0,
        role=NodeRole.TASK,
        instance_id=where.get(str(reported.get("containerInstanceArn"))) or None,
        logical_id=arn.rpartition("/")[2],
        status=status,
        running=status == "RUNNING",
        message=str(reported.get("stoppedReason") or "") or ("its health check fails" if health == "UNHEALTHY" else ""),
        launched=launched,
        zone=reported.get("availabilityZone"),
        address=details.get("privateIPv4Address"),
        task_arn=arn if reported.get("enableExecuteCommand") else None,
    )


Seen = Callable[[int], None]
"""Called with the number of nodes so far."""


def listing_of(
    clients: AwsClients, place: Place, *, roles: Mapping[str, NodeRole] | None = None, seen: Seen | None = None
) -> Listing:
    """Return the nodes of `place`, by group and launch time, and the state of the cluster or service.

    `roles`: roles of HyperPod's instance groups, which AWS may not return (`roles_of_place`). Raises `AwsRefusal`, or
    `FleetError` (LF1008, LF1100) if there are no nodes.
    """
    reported: Seen = seen or (lambda _: None)
    if place.kind is Kind.HYPERPOD:
        return hyperpod_listing(clients, place, roles=roles or {}, seen=reported)
    if place.kind is Kind.PARALLELCLUSTER:
        return parallelcluster_listing(clients, place, seen=reported)
    return service_listing(clients, place, seen=reported)


_WHOLE_ID = re.compile(r"i-[0-9a-f]{8,17}|[0-9a-f]{16,}")
"""Id of an instance or of an ECS task."""


def wanted_id(clients: AwsClients, place: Place, requested: str, *, fleet: "Fleet | None" = None) -> str:
    """Return the instance id (for a task of a service, the task id) of the node `requested`, as `wanted_node` reads it.

    A complete id is returned without a call, because logs and events outlive the node. Raises `AwsRefusal`,
    `FleetError` (LF1100 to LF1103).
    """
    word = requested.strip()
    if _WHOLE_ID.fullmatch(word):
        return word
    node = wanted_node(listing_of(clients, place, roles=roles_of_place(fleet, place)), word)
    found = node.logical_id if node.role is NodeRole.TASK else node.instance_id
    if found is None:
        refuse(
            NodesCode.NODE_NOT_RUNNING,
            f"{node.label} has no instance yet",
            "wait until it has one (`llm-fleet nodes --watch`)",
            subject=str(place),
            value=requested,
        )
    return found
