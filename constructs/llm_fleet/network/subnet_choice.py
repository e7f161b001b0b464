"""Picks a compute subnet by AZ id."""

from collections.abc import Mapping

from aws_cdk import aws_ec2 as ec2

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, raise_problems


def subnet_of(subnets: Mapping[str, ec2.ISubnet], availability_zone_id: str | None, *, subject: str) -> ec2.ISubnet:
    """Return the subnet in that AZ, or in the first when none is named; raise `FleetError` (LF206) if there is none."""
    zones = ", ".join(subnets)
    zone = availability_zone_id or next(iter(subnets))
    if zone not in subnets:
        raise_problems(
            [
                Problem(
                    code=Code.ZONE_WITHOUT_SUBNET,
                    path=("availability_zone_id",),
                    message=f"the network has no compute subnet in {zone}",
                    value=zone,
                    allowed=zones,
                    remedy=f"choose one of {zones}, or add {zone} to the network's AZs",
                )
            ],
            subject=subject,
        )
    return subnets[zone]
