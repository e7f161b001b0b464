"""The subnets of one AZ."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.held import hold
from llm_fleet.network.gateways import InternetExit

_ANYWHERE = "0.0.0.0/0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneCidrs:
    """The CIDR of each subnet of an AZ."""

    private: str
    public: str
    compute: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSubnet:
    """The public subnet of an AZ and how it is led out."""

    subnet_id: str
    route_table_id: str
    association: ec2.CfnSubnetRouteTableAssociation


class Zone(Construct):
    """A private and a compute subnet with one route table, and a public subnet where there is a way out."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc_id: str,
        availability_zone_id: str,
        cidrs: ZoneCidrs,
        compute_block: ec2.CfnVPCCidrBlock,
        internet_exit: InternetExit | None,
        name: str,
    ) -> None:
        """Make the subnets in the AZ of that id; the compute subnet waits for `compute_block` to be associated."""
        super().__init__(scope, id)
        self._vpc_id = vpc_id
        self._availability_zone_id = availability_zone_id
        self._name = name
        self.private = self._subnet("Private", cidrs.private)
        self.compute = self._subnet("Compute", cidrs.compute)
        self.compute.add_resource_dependency(compute_block)
        self.route_table = ec2.CfnRouteTable(self, "RouteTable", vpc_id=vpc_id, tags=self._tags("private"))
        self._associate("Private", self.private, self.route_table)
        self.compute_association = self._associate("Compute", self.compute, self.route_table)
        self.public: PublicSubnet | None = None
        if internet_exit:
            public = self._subnet("Public", cidrs.public)
            self.public = PublicSubnet(
                subnet_id=public.ref,
                route_table_id=internet_exit.route_table.ref,
                association=self._associate("Public", public, internet_exit.route_table),
            )

    def nat_gateway(self, internet_exit: InternetExit) -> ec2.CfnNatGateway:
        """Make a NAT gateway, with an address of its own, in the public subnet."""
        if not self.public:
            raise ValueError("a NAT gateway needs a public subnet")
        address = ec2.CfnEIP(self, "NatAddress", domain="vpc", tags=self._tags("nat"))
        address.add_resource_dependency(internet_exit.attachment)
        gateway = ec2.CfnNatGateway(
            self,
            "NatGateway",
            subnet_id=self.public.subnet_id,
            allocation_id=address.attr_allocation_id,
            tags=self._tags("nat"),
        )
        gateway.add_resource_dependency(internet_exit.attachment)
        return gateway

    def route_out(self, nat_gateway: ec2.CfnNatGateway) -> ec2.CfnRoute:
        """Lead everything that is not for the VPC to `nat_gateway`."""
        return ec2.CfnRoute(
            self,
            "DefaultRoute",
            route_table_id=self.route_table.ref,
            destination_cidr_block=_ANYWHERE,
            nat_gateway_id=nat_gateway.ref,
        )

    def _subnet(self, kind: str, cidr: str) -> ec2.CfnSubnet:
        subnet = ec2.CfnSubnet(
            self,
            f"{kind}Subnet",
            vpc_id=self._vpc_id,
            availability_zone_id=self._availability_zone_id,
            cidr_block=cidr,
            map_public_ip_on_launch=False,
            tags=self._tags(kind.lower()),
        )
        hold(subnet)
        return subnet

    def _associate(
        self, kind: str, subnet: ec2.CfnSubnet, table: ec2.CfnRouteTable
    ) -> ec2.CfnSubnetRouteTableAssociation:
        return ec2.CfnSubnetRouteTableAssociation(
            self, f"{kind}RouteTableAssociation", subnet_id=subnet.ref, route_table_id=table.ref
        )

    def _tags(self, kind: str) -> list[cdk.CfnTag]:
        return [cdk.CfnTag(key="Name", value=f"{self._name}/{kind}")]
