"""The VPC of a cluster, made of its zones."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.network.zones import Zone


def vpc_of_zones(
    scope: Construct, *, vpc_id: str, cidr: str, zones: Sequence[Zone]
) -> tuple[ec2.IVpc, list[ec2.ISubnet]]:
    """Return the VPC, with subnet groups `Public`, `Private` and `Compute`, and its compute subnets in `zones`' order.

    The CDK's own `Vpc` is not used because it chooses AZs by name, never by id. Without public subnets the inner ones
    count as isolated: nothing leads out of them.
    """
    inner = [zone.private for zone in zones] + [zone.compute for zone in zones]
    ids = [subnet.ref for subnet in inner]
    cidrs = [subnet.cidr_block or "" for subnet in inner]
    tables = [zone.route_table.ref for zone in zones] * 2
    names = ["Private", "Compute"]
    availability_zones = [zone.private.attr_availability_zone for zone in zones]
    public = [zone.public.subnet_id for zone in zones if zone.public]
    if not public:
        vpc = ec2.Vpc.from_vpc_attributes(
            scope,
            "Vpc",
            vpc_id=vpc_id,
            vpc_cidr_block=cidr,
            availability_zones=availability_zones,
            isolated_subnet_ids=ids,
            isolated_subnet_names=names,
            isolated_subnet_route_table_ids=tables,
            isolated_subnet_ipv4_cidr_blocks=cidrs,
        )
        return vpc, vpc.isolated_subnets[len(zones) :]
    vpc = ec2.Vpc.from_vpc_attributes(
        scope,
        "Vpc",
        vpc_id=vpc_id,
        vpc_cidr_block=cidr,
        availability_zones=availability_zones,
        public_subnet_ids=public,
        public_subnet_names=["Public"],
        public_subnet_route_table_ids=[zone.public.route_table_id for zone in zones if zone.public],
        private_subnet_ids=ids,
        private_subnet_names=names,
        private_subnet_route_table_ids=tables,
        private_subnet_ipv4_cidr_blocks=cidrs,
    )
    return vpc, vpc.private_subnets[len(zones) :]


def make_vpc(scope: Construct, *, cidr: str, compute_cidr: str, name: str) -> tuple[ec2.CfnVPC, ec2.CfnVPCCidrBlock]:
    """Make a VPC of `cidr` and associate `compute_cidr`; `name` is its Name tag."""
    vpc = ec2.CfnVPC(
        scope,
        "Resource",
        cidr_block=cidr,
        enable_dns_support=True,
        enable_dns_hostnames=True,  # private DNS names of endpoints, and of FSx, need it
        tags=[cdk.CfnTag(key="Name", value=name)],
    )
    acknowledge(
        vpc,
        "CloudFormation cannot take rules out of a VPC's default group; only a custom resource could. Nothing is put "
        "into it: every network interface here is made with a group of its own.",
        "NIST.800.53.R5-VPCDefaultSecurityGroupClosed",
    )
    return vpc, ec2.CfnVPCCidrBlock(scope, "ComputeCidr", vpc_id=vpc.ref, cidr_block=compute_cidr)
