"""The AZs of a network, and their ways out."""

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.network.gateways import InternetExit
from llm_fleet.network.naming import zone_construct_id
from llm_fleet.network.zone import Zone
from llm_fleet.network.zone_cidrs import zone_cidrs
from llm_fleet.rules.network_endpoints import nat_gateways
from llm_fleet.rules.terms import InternetAccess


def make_zones(
    scope: Construct,
    *,
    vpc_id: str,
    availability_zone_ids: Sequence[str],
    cidr: str,
    compute_cidr: str,
    compute_block: ec2.CfnVPCCidrBlock,
    internet_exit: InternetExit | None,
    name: str,
) -> list[Zone]:
    """Make the subnets of each AZ."""
    return [
        Zone(
            scope,
            zone_construct_id(zone_id, index),
            vpc_id=vpc_id,
            availability_zone_id=zone_id,
            cidrs=zone_cidrs(cidr, compute_cidr, zone=index),
            compute_block=compute_block,
            internet_exit=internet_exit,
            name=f"{name}/{zone_id}",
        )
        for index, zone_id in enumerate(availability_zone_ids)
    ]


def lead_out(
    zones: Sequence[Zone], *, internet: InternetAccess, internet_exit: InternetExit | None
) -> tuple[list[ec2.CfnNatGateway], list[ec2.CfnRoute]]:
    """Make NAT gateways and default routes; return both, the routes with that of the public subnets first."""
    if not internet_exit:
        return [], []
    gateways = [zone.nat_gateway(internet_exit) for zone in zones[: nat_gateways(internet, len(zones))]]
    routes = [zone.route_out(gateways[min(index, len(gateways) - 1)]) for index, zone in enumerate(zones)]
    return gateways, [internet_exit.route, *routes]
