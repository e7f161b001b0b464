"""Lists the nodes of a ParallelCluster: instances of EC2, by the tags that it gives them."""

from collections.abc import Callable
from typing import Any, cast

from llm_fleet.catalog.aws_api import api_rate, page_size
from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import told_of_aws
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.nodes.launch_order import in_launch_order
from llm_fleet.cli.nodes.listing import Listing
from llm_fleet.cli.nodes.node import Node, NodeRole
from llm_fleet.cli.nodes.pace import Pace
from llm_fleet.cli.nodes.told import Told, part
from llm_fleet.cli.place.place import Place
from llm_fleet.rules.day_two.nodes_codes import NodesCode

_CALL = "describe_instances"
_CLUSTER = "parallelcluster:cluster-name"
_TYPE = "parallelcluster:node-type"
_QUEUE = "parallelcluster:queue-name"
_POOL = "parallelcluster:login-nodes-pool"
_ROLES = {"HeadNode": NodeRole.HEAD, "Compute": NodeRole.COMPUTE, "LoginNode": NodeRole.LOGIN}
_THERE = ["pending", "running", "shutting-down", "stopping", "stopped"]


def parallelcluster_listing(clients: AwsClients, place: Place, *, seen: Callable[[int], None]) -> Listing:
    """Return the cluster's nodes. Raises `AwsRefusal`, or `FleetError` (LF1100) when there is none."""
    with told_of_aws(str(place)):
        instances = _instances(clients, place.name, seen)
    if not instances:
        refuse(
            NodesCode.NO_NODES,
            "no instance of this cluster is in the region",
            "see that it is deployed, and that --region is its own; "
            f"`aws ec2 describe-instances --region {clients.region} --filters Name=tag-key,Values={_CLUSTER}` shows "
            "all there are",
            subject=str(place),
        )
    name = _newest(instances)
    nodes = [_node(one) for one in instances if _tags(one).get(_CLUSTER) == name]
    return Listing(nodes=in_launch_order(nodes), name=name)


def _instances(clients: AwsClients, name: str, seen: Callable[[int], None]) -> list[Told]:
    # Its name ends in eight digits of a hash of what no update changes, which only a synth could tell.
    filters = [
        {"Name": f"tag:{_CLUSTER}", "Values": [name, f"{name}-????????"]},
        {"Name": "instance-state-name", "Values": _THERE},
    ]
    pace = Pace(api_rate(_CALL))
    found: list[Told] = []
    token: dict[str, Any] = {}
    while True:
        pace.take()
        page = cast(
            "Told",
            clients.ec2.describe_instances(Filters=cast("Any", filters), MaxResults=page_size(_CALL), **token),
        )
        found += [one for reservation in page["Reservations"] for one in reservation.get("Instances", [])]
        seen(len(found))
        if not page.get("NextToken"):
            return found
        token = {"NextToken": page["NextToken"]}


def _newest(instances: list[Told]) -> str:
    """Return the name of the cluster: of two, as long as one takes the other's place, the new one's."""
    heads = [one for one in instances if _tags(one).get(_TYPE) == "HeadNode"]
    return _tags(max(heads or instances, key=lambda one: one["LaunchTime"]))[_CLUSTER]


def _tags(instance: Told) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}


def _node(told: Told) -> Node:
    tags = _tags(told)
    role = _ROLES.get(tags.get(_TYPE, ""))
    state = str(told["State"]["Name"])
    running = state == "running"
    return Node(
        group=tags.get(_QUEUE) or tags.get(_POOL) or str(role or "node"),
        index=0,
        role=role,
        instance_id=told["InstanceId"],
        status=state,
        running=running,
        message="" if running else str(part(told, "StateReason").get("Message", "")),
        instance_type=told.get("InstanceType"),
        launched=told.get("LaunchTime"),
        zone=part(told, "Placement").get("AvailabilityZone"),
        address=told.get("PrivateIpAddress"),
        target=told["InstanceId"] if running else None,
    )
