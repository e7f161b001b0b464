"""The parts of a cluster's stack. Only the head node creates a resource: a network interface in its subnet.

Source: emulation, parts of the stack are stand-ins
"""

import hashlib
from typing import Any

from llm_fleet_local.aws.parallelcluster.cluster_template import HEAD_NODE
from llm_fleet_local.aws.resource_provider import Created, Level, ReplacementNeeded, Request
from llm_fleet_local.aws.resources.services import Gone, Services

_DESCRIPTION = "STAND-IN for the head node of a ParallelCluster"
_FIXED = ("SubnetId", "InstanceType")


class ClusterParts:
    """Creates, updates and deletes the parts of clusters."""

    def __init__(self, services: Services) -> None:
        """Create network interfaces at one endpoint."""
        self._services = services
        self._kept: set[str] = set()

    def create(self, request: Request) -> Created:
        """Record a part; for the head node, create a network interface in its subnet."""
        if request.resource_type == HEAD_NODE:
            return self._new_head_node(request)
        self._kept.add(_id(request))
        return Created(physical_id=_id(request), attributes={}, level=Level.RECORDED)

    def update(self, request: Request) -> Created:
        """Record a part again; for the head node, change its interface's security groups."""
        if request.resource_type != HEAD_NODE:
            return Created(physical_id=_id(request), attributes={}, level=Level.RECORDED)
        before = request.old_properties or {}
        if any(before.get(name) != request.properties.get(name) for name in _FIXED):
            raise ReplacementNeeded
        interface = _interface_of(request.physical_id or "")
        if before.get("SecurityGroupIds") != request.properties["SecurityGroupIds"]:
            groups = request.properties["SecurityGroupIds"] or [self._default_group(request)]
            change = {"NetworkInterfaceId": interface, "Groups": groups}
            self._call(request, "ModifyNetworkInterfaceAttribute", change)
        found = self._call(request, "DescribeNetworkInterfaces", {"NetworkInterfaceIds": [interface]})
        return _head_node(found["NetworkInterfaces"][0])

    def delete(self, request: Request) -> None:
        """Delete a part; for the head node, also its interface."""
        if request.resource_type != HEAD_NODE:
            self._kept.discard(request.physical_id or "")
            return
        interface = {"NetworkInterfaceId": _interface_of(request.physical_id or "")}
        try:
            self._call(request, "DeleteNetworkInterface", interface)
        except Gone:
            return

    def exists(self, physical_id: str, region: str, account: str) -> bool:
        """Return whether a part is recorded, or its interface exists."""
        if not physical_id.startswith("i-"):
            return physical_id in self._kept
        requested = {"NetworkInterfaceIds": [_interface_of(physical_id)]}
        try:
            return bool(self._services.call("ec2", region, "DescribeNetworkInterfaces", requested)["NetworkInterfaces"])
        except Gone:
            return False

    def _new_head_node(self, request: Request) -> Created:
        wanted: dict[str, Any] = {"SubnetId": request.properties["SubnetId"], "Description": _DESCRIPTION}
        if request.properties["SecurityGroupIds"]:
            wanted["Groups"] = request.properties["SecurityGroupIds"]
        return _head_node(self._call(request, "CreateNetworkInterface", wanted)["NetworkInterface"])

    def _default_group(self, request: Request) -> str:
        subnets = self._call(request, "DescribeSubnets", {"SubnetIds": [request.properties["SubnetId"]]})
        filters = [
            {"Name": "vpc-id", "Values": [subnets["Subnets"][0]["VpcId"]]},
            {"Name": "group-name", "Values": ["default"]},
        ]
        return self._call(request, "DescribeSecurityGroups", {"Filters": filters})["SecurityGroups"][0]["GroupId"]

    def _call(self, request: Request, operation: str, params: dict[str, Any]) -> dict[str, Any]:
        return self._services.call("ec2", request.region, operation, params)


def _head_node(interface: dict[str, Any]) -> Created:
    address = interface["PrivateIpAddress"]
    attributes = {"PrivateIp": address, "PrivateDnsName": f"ip-{address.replace('.', '-')}.ec2.internal"}
    note = "STAND-IN: a network interface in its subnet, no instance"
    instance_id = "i-" + interface["NetworkInterfaceId"].removeprefix("eni-")
    return Created(physical_id=instance_id, attributes=attributes, level=Level.RECORDED, notes=(note,))


def _interface_of(instance_id: str) -> str:
    return "eni-" + instance_id.removeprefix("i-")


def _id(request: Request) -> str:
    digits = hashlib.sha256(f"{request.stack_id}{request.logical_id}".encode()).hexdigest()[:12]
    return f"{request.logical_id}-{digits}"
