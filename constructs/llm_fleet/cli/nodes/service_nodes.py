"""Lists the hosts and the tasks of an inference service."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn, cast

from llm_fleet.catalog.aws_api import api_rate, page_size
from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import told_of_aws
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.nodes.launch_order import in_launch_order
from llm_fleet.cli.nodes.listing import GroupCount, Listing
from llm_fleet.cli.nodes.node import Node, NodeRole
from llm_fleet.cli.nodes.pace import Pace
from llm_fleet.cli.nodes.told import Told, part
from llm_fleet.cli.place.place import Place
from llm_fleet.rules.day_two.command_codes import CommandCode

_CALL = "list_ecs"
_INTERFACE = "ElasticNetworkInterface"


def service_listing(clients: AwsClients, place: Place, *, seen: Callable[[int], None]) -> Listing:
    """Return the hosts and tasks of the service. Its ECS cluster has its name.

    Raises `AwsRefusal`, or `FleetError` (LF1008) when neither the service nor anything of it is there.
    """
    name = place.name
    asked = _Ecs(clients, name)
    services = living_services(clients, place)
    with told_of_aws(str(place)):
        hosts = asked.all("list_container_instances", "containerInstanceArns", "describe_container_instances")
        # Of a service that is not there ECS refuses to list tasks, while its hosts may be there already.
        tasks = asked.all("list_tasks", "taskArns", "describe_tasks", serviceName=name) if services else []
        machines = _machines(clients, [str(one["ec2InstanceId"]) for one in hosts if one.get("ec2InstanceId")])
    if not (services or hosts or tasks):
        refuse_gone(place)
    seen(len(hosts) + len(tasks))
    where = {str(one["containerInstanceArn"]): str(one.get("ec2InstanceId", "")) for one in hosts}
    nodes = [_host(one, machines.get(str(one.get("ec2InstanceId")), {})) for one in hosts]
    nodes += [_task(one, where) for one in tasks]
    service: Told = services[0] if services else {}
    return Listing(
        nodes=in_launch_order(nodes),
        name=name,
        status=str(service.get("status", "")),
        message=_last_event(service),
        has_slurm=False,
        counts=(_count(service),) if service else (),
    )


def living_services(clients: AwsClients, place: Place) -> list[Told]:
    """Return what ECS tells of the service: one, or none where it is not there. Raises `AwsRefusal`."""
    with told_of_aws(str(place)):
        answer = cast("Told", clients.ecs.describe_services(cluster=place.name, services=[place.name]))
    # ECS tells of a deleted service for a while.
    return [one for one in answer["services"] if one.get("status") != "INACTIVE"]


def refuse_gone(place: Place) -> NoReturn:
    """Refuse to tell of a service of which nothing is there (LF1008)."""
    refuse(
        CommandCode.GONE,
        "there is no such service: not yet, or no longer",
        "see that it was deployed, in this region and account; `llm-fleet events` tells why a stack was rolled back",
        subject=str(place),
    )


class _Ecs:
    """Asks ECS page by page."""

    def __init__(self, clients: AwsClients, cluster: str) -> None:
        self._client: Any = clients.ecs
        self._cluster = cluster
        self._pace = Pace(api_rate(_CALL))

    def all(self, lists: str, arns: str, describes: str, **more: str) -> list[Told]:
        """Return what the operation `describes` tells of everything that `lists` names."""
        key = arns.removesuffix("Arns") + "s"
        found: list[Told] = []
        for named in self._pages(lists, arns, more):
            if named:
                self._pace.take()
                found += getattr(self._client, describes)(cluster=self._cluster, **{key: named})[key]
        return found

    def _pages(self, lists: str, arns: str, more: Mapping[str, str]) -> Iterator[Sequence[str]]:
        token: dict[str, str] = {}
        while True:
            self._pace.take()
            size = page_size(_CALL)
            page = getattr(self._client, lists)(cluster=self._cluster, maxResults=size, **more, **token)
            yield page[arns]
            if not page.get("nextToken"):
                return
            token = {"nextToken": page["nextToken"]}


def _machines(clients: AwsClients, ids: Sequence[str]) -> dict[str, Told]:
    """Return what EC2 tells of the hosts, by id; one that is gone already is left out."""
    if not ids:
        return {}
    pages = clients.ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "instance-id", "Values": list(ids)}]
    )
    found = [one for page in pages for reservation in page["Reservations"] for one in reservation.get("Instances", [])]
    return {str(one.get("InstanceId")): cast("Told", one) for one in found}


def _count(service: Told) -> GroupCount:
    return GroupCount(group=str(NodeRole.TASK), current=service["runningCount"], wanted=service["desiredCount"])


def _last_event(service: Told) -> str:
    """Return why the service lacks tasks, in ECS's words; nothing when it lacks none."""
    if not service or service["runningCount"] >= service["desiredCount"]:
        return ""
    events: Sequence[Told] = service.get("events", [])
    return str(events[0]["message"]) if events else ""


def _host(told: Told, machine: Told) -> Node:
    attributes = {one["name"]: one.get("value", "") for one in told.get("attributes", [])}
    connected = bool(told.get("agentConnected"))
    status = str(told.get("status", ""))
    return Node(
        group=str(NodeRole.HOST),
        index=0,
        role=NodeRole.HOST,
        instance_id=told.get("ec2InstanceId"),
        status=status,
        running=status == "ACTIVE" and connected,
        message=str(told.get("statusReason") or "") or ("" if connected else "ECS's agent is not connected"),
        instance_type=machine.get("InstanceType") or attributes.get("ecs.instance-type"),
        launched=machine.get("LaunchTime") or told.get("registeredAt"),
        zone=part(machine, "Placement").get("AvailabilityZone") or attributes.get("ecs.availability-zone"),
        address=machine.get("PrivateIpAddress"),
        target=told.get("ec2InstanceId"),
    )


def _task(told: Told, where: Mapping[str, str]) -> Node:
    arn = str(told["taskArn"])
    details = {
        detail["name"]: detail.get("value", "")
        for attachment in told.get("attachments", [])
        if attachment.get("type") == _INTERFACE
        for detail in attachment.get("details", [])
    }
    status = str(told.get("lastStatus", ""))
    health = str(told.get("healthStatus", ""))
    launched: datetime | None = told.get("startedAt") or told.get("createdAt")
    return Node(
        group=str(NodeRole.TASK),
        index=0,
        role=NodeRole.TASK,
        instance_id=where.get(str(told.get("containerInstanceArn"))) or None,
        logical_id=arn.rpartition("/")[2],
        status=status,
        running=status == "RUNNING",
        message=str(told.get("stoppedReason") or "") or ("its health check fails" if health == "UNHEALTHY" else ""),
        launched=launched,
        zone=told.get("availabilityZone"),
        address=details.get("privateIPv4Address"),
        task_arn=arn if told.get("enableExecuteCommand") else None,
    )
