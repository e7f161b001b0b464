"""Availability Zones: their CIDR blocks, their subnets, and those for databases and load balancers alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IDependable

from llm_fleet.catalog.network import address_facts
from llm_fleet.network.network import InternetExit, zone_construct_id
from llm_fleet.references import hold
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network import nat_gateways
from llm_fleet.rules.network_layout import (
    compute_slot,
    database_slots,
    load_balancer_zone,
    primary_slots,
    private_slot,
    public_slot,
    slice_cidr,
)
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved

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


def zone_cidrs(cidr: str, compute_cidr: str, *, zone: int) -> ZoneCidrs:
    """Return the CIDRs of the AZ at index `zone`. A token is taken as the largest block, a /16."""
    return ZoneCidrs(
        private=_part(cidr, primary_slots(), private_slot(zone)),
        public=_part(cidr, primary_slots(), public_slot(zone)),
        compute=_part(compute_cidr, *compute_slot(zone)),
    )


def database_cidrs(cidr: str, *, zones: int, subject: str) -> list[str]:
    """Return the CIDRs of the two subnets for databases, beside those of `zones` AZs; raise `FleetError` (LF699)."""
    slots = database_slots()
    if zones > slots[0]:
        raise_problems(
            [
                Problem(
                    code=Code.DATABASE_SUBNETS,
                    path=("availability_zone_ids",),
                    value=zones,
                    message=f"a network of {zones} AZs has no room for the subnets of a database",
                    allowed=f"up to {slots[0]} AZs",
                    remedy="name subnets of your own for the database, as `subnets`",
                )
            ],
            subject=subject,
        )
    return [_part(cidr, primary_slots(), private_slot(slot)) for slot in slots]


def load_balancer_cidrs(cidr: str, *, index: int) -> tuple[str, str]:
    """Return the CIDRs of the private and of the public subnet of the AZ at `index` for load balancers alone."""
    private, public = load_balancer_zone(index)
    return (
        _part(cidr, primary_slots(), private_slot(private)),
        _part(cidr, primary_slots(), public_slot(public)),
    )


def _part(cidr: str, slots: int, slot: int) -> str:
    if not is_unresolved(cidr):
        return slice_cidr(cidr, slots, slot)
    host_bits = 32 - address_facts().largest_block_prefix - (slots - 1).bit_length()
    return cdk.Fn.select(slot, cdk.Fn.cidr(cidr, slots, str(host_bits)))


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
