"""Subnets for databases."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.held import hold
from llm_fleet.network.zone_cidrs import database_cidrs


class DatabaseSubnets(Construct):
    """Two subnets without a way out, in two AZs of the region.

    RDS asks for two AZs, and a fleet mostly has one, where its capacity is. So these stand in the account's first two
    AZs by name, whichever those are: a database is reached across AZs as well, and a fleet that gets or loses an AZ
    moves no subnet under a database. They take the last two of the parts of the primary block that are kept for private
    subnets of AZs, the seventh and the eighth.
    """

    def __init__(self, scope: Construct, id: str, *, vpc_id: str, cidr: str, zones: int, name: str) -> None:
        """Make them in the VPC `vpc_id`, whose primary block is `cidr`; `name` is what Name tags begin with.

        Raises `FleetError` (LF699) in a network of so many AZs that no part of the block is free.
        """
        super().__init__(scope, id)
        self._made: list[ec2.CfnSubnet] = []
        self.subnets: list[ec2.ISubnet] = []
        for index, part in enumerate(database_cidrs(cidr, zones=zones, subject=scope.node.path)):
            tags = [cdk.CfnTag(key="Name", value=f"{name}/database{index + 1}")]
            table = ec2.CfnRouteTable(self, f"RouteTable{index + 1}", vpc_id=vpc_id, tags=tags)
            subnet = ec2.CfnSubnet(
                self,
                f"Subnet{index + 1}",
                vpc_id=vpc_id,
                availability_zone=cdk.Fn.select(index, cdk.Fn.get_azs()),
                cidr_block=part,
                map_public_ip_on_launch=False,
                tags=tags,
            )
            ec2.CfnSubnetRouteTableAssociation(
                self, f"RouteTableAssociation{index + 1}", subnet_id=subnet.ref, route_table_id=table.ref
            )
            hold(subnet)
            self._made.append(subnet)
            self.subnets.append(
                ec2.Subnet.from_subnet_attributes(
                    self, f"Imported{index + 1}", subnet_id=subnet.ref, route_table_id=table.ref
                )
            )

    def keep(self) -> None:
        """Keep the subnets when the stack is deleted. Idempotent."""
        for subnet in self._made:
            subnet.apply_removal_policy(cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
