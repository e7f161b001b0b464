"""Subnets of databases and load balancers."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IDependable

from llm_fleet.held import hold
from llm_fleet.network.network import InternetExit, zone_construct_id
from llm_fleet.network.zones import database_cidrs, load_balancer_cidrs


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


_ANYWHERE = "0.0.0.0/0"


class LoadBalancerSubnets(Construct):
    """A private subnet, and a public one where there is a way out, in each of some further AZs.

    A load balancer needs two AZs, and a fleet mostly has one, where its capacity is. These take parts of the primary
    block from its end, so that an AZ that is added here or there moves no subnet.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc_id: str,
        cidr: str,
        availability_zone_ids: Sequence[str],
        internet_exit: InternetExit | None,
        nat_gateway_id: str | None,
        name: str,
    ) -> None:
        """Make them in the VPC `vpc_id`, whose primary block is `cidr`; `name` is what Name tags begin with.

        `nat_gateway_id`: the way out of the private ones; a load balancer in them may have to fetch an issuer's keys.
        """
        super().__init__(scope, id)
        self._vpc_id = vpc_id
        self.private: dict[str, ec2.ISubnet] = {}
        """By AZ id."""
        self.public: dict[str, ec2.ISubnet] = {}
        """By AZ id; none without a way out."""
        self.ways: list[IDependable] = []
        """Routes and what binds subnets to them."""
        for index, zone_id in enumerate(availability_zone_ids):
            private, public = load_balancer_cidrs(cidr, index=index)
            zone = Construct(self, zone_construct_id(zone_id, index))
            tag = f"{name}/{zone_id}/load-balancer"
            table = ec2.CfnRouteTable(zone, "RouteTable", vpc_id=vpc_id, tags=_name(f"{tag}/private"))
            if nat_gateway_id:
                route = ec2.CfnRoute(
                    zone,
                    "DefaultRoute",
                    route_table_id=table.ref,
                    destination_cidr_block=_ANYWHERE,
                    nat_gateway_id=nat_gateway_id,
                )
                self.ways.append(route)
            self.private[zone_id] = self._subnet(zone, "Private", zone_id, private, table.ref, tag)
            if internet_exit:
                self.public[zone_id] = self._subnet(zone, "Public", zone_id, public, internet_exit.route_table.ref, tag)

    def _subnet(
        self, zone: Construct, kind: str, zone_id: str, cidr: str, route_table_id: str, tag: str
    ) -> ec2.ISubnet:
        subnet = ec2.CfnSubnet(
            zone,
            f"{kind}Subnet",
            vpc_id=self._vpc_id,
            availability_zone_id=zone_id,
            cidr_block=cidr,
            map_public_ip_on_launch=False,
            tags=_name(f"{tag}/{kind.lower()}"),
        )
        hold(subnet)
        association = ec2.CfnSubnetRouteTableAssociation(
            zone, f"{kind}RouteTableAssociation", subnet_id=subnet.ref, route_table_id=route_table_id
        )
        self.ways.append(association)
        return ec2.Subnet.from_subnet_attributes(
            zone,
            kind,
            subnet_id=subnet.ref,
            availability_zone=subnet.attr_availability_zone,
            ipv4_cidr_block=cidr,
            route_table_id=route_table_id,
        )


def _name(name: str) -> list[cdk.CfnTag]:
    return [cdk.CfnTag(key="Name", value=name)]
