"""Resources of others in a VPC: it cannot be deleted without them, and they may use its file systems."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from llm_fleet.cli.clients import AwsClients, AwsRefusal, aws_errors_reported
from llm_fleet.cli.retained.survey import FILE_SYSTEM, KEY, Retained, Survey
from llm_fleet.rules.problem import Problem

NOT_KNOWN = "not known"
"""Instead of the ids in a VPC that could not be queried, which others may use."""

_ENDED = ("deleted", "deleting", "detached", "rejected", "expired", "failed")
"""States of endpoints, attachments and peering connections that no longer exist.
Source: model botocore ec2 AttachmentStatus, VpcPeeringConnectionStateReasonCode"""


def others_in(clients: AwsClients, vpc: str, ours: Collection[str]) -> set[str]:
    """Return the ids in the VPC that are neither in `ours` nor deleted with the VPC.

    Source: document https://docs.aws.amazon.com/vpc/latest/userguide/delete-vpc.html
    """
    return {*_inside(clients.client("ec2"), vpc), *_connected(clients.client("ec2"), vpc)} - set(ours)


def with_users(clients: AwsClients, found: Survey, ours: Iterable[Retained]) -> Survey:
    """Return `found` with what is in its VPCs besides `ours`, at each item there, and at all keys: users of a VPC may
    have data that a key has encrypted.
    """
    ours = tuple(ours)
    own = {item.id for item in ours}
    # A file system's interfaces are deleted with it.
    own |= {id for item in ours for id in item.described.facts.get("NetworkInterfaceIds", ())}
    is_complete = all(item.is_checked for item in ours if item.kind == FILE_SYSTEM)
    users: dict[str, tuple[str, ...]] = {}
    problems: list[Problem] = []
    for vpc in sorted({vpc_of(item) for item in found.items} - {""}):
        try:
            with aws_errors_reported(f"resources in {vpc}"):
                users[vpc] = tuple(sorted(others_in(clients, vpc, own))) if is_complete else (NOT_KNOWN,)
        except AwsRefusal as refused:
            users[vpc] = (NOT_KNOWN,)
            problems += [one for one in refused.problems if one not in (*found.problems, *problems)]
    every = tuple(dict.fromkeys(id for ids in users.values() for id in ids))
    items = tuple(
        replace(item, vpc_users=every if item.kind == KEY else users.get(vpc_of(item), ())) for item in found.items
    )
    return replace(found, items=items, problems=(*found.problems, *problems))


def vpc_of(item: Retained) -> str:
    """Return the id of its VPC; empty without one."""
    return item.id if item.kind == "VPC" else str(item.described.facts.get("VpcId", ""))


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
