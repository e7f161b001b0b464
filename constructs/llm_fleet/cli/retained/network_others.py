"""Resources in a VPC without whose deletion it and its parts cannot be deleted."""

from collections.abc import Collection, Iterator
from typing import Any

from llm_fleet.cli.clients import AwsClients

_ENDED = ("deleted", "deleting", "detached", "rejected", "expired", "failed")
"""States of endpoints, attachments and peering connections that no longer exist.
Source: model botocore ec2 AttachmentStatus, VpcPeeringConnectionStateReasonCode"""


def others_in(clients: AwsClients, vpc: str, ours: Collection[str]) -> set[str]:
    """Return the ids in the VPC that are neither in `ours` nor deleted with the VPC.

    Source: document https://docs.aws.amazon.com/vpc/latest/userguide/delete-vpc.html
    """
    return {*_inside(clients.client("ec2"), vpc), *_connected(clients.client("ec2"), vpc)} - set(ours)


def _inside(ec2: Any, vpc: str) -> Iterator[str]:
    of_vpc = _filter("vpc-id", vpc)
    yield from (one["SubnetId"] for one in ec2.describe_subnets(**of_vpc)["Subnets"])
    groups = ec2.describe_security_groups(**of_vpc)["SecurityGroups"]
    yield from (one["GroupId"] for one in groups if one["GroupName"] != "default")
    yield from (one["NetworkInterfaceId"] for one in ec2.describe_network_interfaces(**of_vpc)["NetworkInterfaces"])
    tables = ec2.describe_route_tables(**of_vpc)["RouteTables"]
    yield from (one["RouteTableId"] for one in tables if not any(each.get("Main") for each in one["Associations"]))
    lists = ec2.describe_network_acls(**of_vpc)["NetworkAcls"]
    yield from (one["NetworkAclId"] for one in lists if not one["IsDefault"])
    endpoints = ec2.describe_vpc_endpoints(**of_vpc)["VpcEndpoints"]
    yield from (one["VpcEndpointId"] for one in endpoints if one["State"].lower() not in _ENDED)


def _connected(ec2: Any, vpc: str) -> Iterator[str]:
    attached = _filter("attachment.vpc-id", vpc)
    yield from (one["InternetGatewayId"] for one in ec2.describe_internet_gateways(**attached)["InternetGateways"])
    gateways = [
        *((one["VpnGatewayId"], one["VpcAttachments"]) for one in ec2.describe_vpn_gateways(**attached)["VpnGateways"]),
        # This call has no filter for the VPC.
        *(
            (one["EgressOnlyInternetGatewayId"], one["Attachments"])
            for page in ec2.get_paginator("describe_egress_only_internet_gateways").paginate()
            for one in page["EgressOnlyInternetGateways"]
        ),
    ]
    for id, attachments in gateways:
        # A detached gateway keeps its attachment in the response for some time.
        if any(one["VpcId"] == vpc and one["State"] not in _ENDED[:3] for one in attachments):
            yield id
    for side in ("requester", "accepter"):
        peers = ec2.describe_vpc_peering_connections(**_filter(f"{side}-vpc-info.vpc-id", vpc))
        for one in peers["VpcPeeringConnections"]:
            if one["Status"]["Code"] not in _ENDED:
                yield one["VpcPeeringConnectionId"]


def _filter(name: str, value: str) -> dict[str, Any]:
    return {"Filters": [{"Name": name, "Values": [value]}]}
