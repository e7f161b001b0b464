"""Availability Zones: internet access, CIDR blocks, and subnets, also those for databases and load balancers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IDependable

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.network import address_facts
from llm_fleet.network.network import zone_construct_id
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
from llm_fleet.rules.problem import Problem, is_unresolved, raise_problems
from llm_fleet.rules.terms import InternetAccess


class InternetExit(Construct):
    """An internet gateway attached to a VPC, new or existing, and a route table for public subnets.

    NAT gateways, their addresses and the default route have an explicit dependency on the attachment: their properties
    do not refer to it, and CloudFormation would otherwise create them before the gateway is attached, and fail.
    """

    def __init__(
        self, scope: Construct, id: str, *, vpc_id: str, name: str, internet_gateway_id: str | None = None
    ) -> None:
        """Create it in the VPC `vpc_id`; `name` is the prefix of Name tags.

        `internet_gateway_id`: the one that is attached to the VPC already. Default: one is created and attached.
        """
        super().__init__(scope, id)
        self._attachment: ec2.CfnVPCGatewayAttachment | None = None
        if internet_gateway_id is None:
            internet_gateway_id = ec2.CfnInternetGateway(self, "Resource", tags=_name(name)).ref
            self._attachment = ec2.CfnVPCGatewayAttachment(
                self, "Attachment", vpc_id=vpc_id, internet_gateway_id=internet_gateway_id
            )
        self.route_table = ec2.CfnRouteTable(self, "RouteTable", vpc_id=vpc_id, tags=_name(f"{name}/public"))
        self.route = _default_route(self, self.route_table, gateway_id=internet_gateway_id)
        self.add_dependent(self.route)
        acknowledge(
            self.route,
            "Only the public subnets use this table. Only NAT gateways and public load balancers "
            "are in them, and they assign no public addresses: nodes reach package mirrors and registries "
            "through NAT alone.",
            "NIST.800.53.R5-VPCNoUnrestrictedRouteToIGW",
        )

    def add_dependent(self, resource: cdk.CfnResource) -> None:
        """Let `resource` be created after the attachment."""
        if self._attachment is not None:
            resource.add_resource_dependency(self._attachment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The VPC in which subnets are created, and its existing parts."""

    vpc_id: str
    cidr: str
    """The VPC's first block, of all but compute subnets."""
    compute_cidr: str
    compute_block: ec2.CfnVPCCidrBlock | None
    """The association of `compute_cidr` with the VPC; `None` if it exists."""
    internet_exit: InternetExit | None
    name: str
    """Prefix of Name tags."""
    compute_subnet_ids: Mapping[str, str]
    """Existing compute subnets, by AZ id."""
    database_subnet_ids: Sequence[str]
    """Existing database subnets."""


def _name(name: str) -> list[cdk.CfnTag]:
    return [cdk.CfnTag(key="Name", value=name)]


def _subnet(scope: Construct, id: str, ground: Ground, cidr: str, tag: str, **zone: Any) -> ec2.CfnSubnet:
    """Return a subnet in the AZ of `zone`: `availability_zone_id` or `availability_zone`."""
    subnet = ec2.CfnSubnet(
        scope, id, vpc_id=ground.vpc_id, cidr_block=cidr, map_public_ip_on_launch=False, tags=_name(tag), **zone
    )
    hold(subnet)
    return subnet


def _route_table(scope: Construct, id: str, ground: Ground, tag: str) -> ec2.CfnRouteTable:
    return ec2.CfnRouteTable(scope, id, vpc_id=ground.vpc_id, tags=_name(tag))


def _default_route(scope: Construct, table: ec2.CfnRouteTable, **way: Any) -> ec2.CfnRoute:
    """Return the default route by `way`: `nat_gateway_id` or `gateway_id`."""
    return ec2.CfnRoute(scope, "DefaultRoute", route_table_id=table.ref, destination_cidr_block="0.0.0.0/0", **way)


def _associate(
    scope: Construct, id: str, subnet_id: str, table: ec2.CfnRouteTable
) -> ec2.CfnSubnetRouteTableAssociation:
    return ec2.CfnSubnetRouteTableAssociation(scope, id, subnet_id=subnet_id, route_table_id=table.ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneCidrs:
    """The CIDR of each subnet of an AZ."""

    private: str
    public: str
    compute: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSubnet:
    """The public subnet of an AZ and its route to the internet."""

    subnet_id: str
    route_table_id: str
    association: ec2.CfnSubnetRouteTableAssociation


class Zone(Construct):
    """A private and a compute subnet with one route table, and a public subnet if the network has internet access."""

    def __init__(self, scope: Construct, id: str, ground: Ground, *, availability_zone_id: str, index: int) -> None:
        """Create the subnets in the AZ of that id, the network's AZ at `index`, except an existing compute subnet.

        The compute subnet waits for its block to be associated.
        """
        super().__init__(scope, id)
        self._ground = ground
        self._availability_zone_id = availability_zone_id
        self._tag = f"{ground.name}/{availability_zone_id}"
        cidrs = zone_cidrs(ground.cidr, ground.compute_cidr, zone=index)
        self.private = self._subnet("Private", cidrs.private)
        self.compute_cidr = cidrs.compute
        self.compute_id = ground.compute_subnet_ids.get(availability_zone_id, "")
        self.compute: ec2.CfnSubnet | None = None
        """`None` if it exists already."""
        if not self.compute_id:
            self.compute = self._subnet("Compute", cidrs.compute)
            self.compute_id = self.compute.ref
            if ground.compute_block is not None:
                self.compute.add_resource_dependency(ground.compute_block)
        self.route_table = _route_table(self, "RouteTable", ground, f"{self._tag}/private")
        _associate(self, "PrivateRouteTableAssociation", self.private.ref, self.route_table)
        self.compute_association = _associate(self, "ComputeRouteTableAssociation", self.compute_id, self.route_table)
        self.public: PublicSubnet | None = None
        if ground.internet_exit:
            public, table = self._subnet("Public", cidrs.public), ground.internet_exit.route_table
            self.public = PublicSubnet(
                subnet_id=public.ref,
                route_table_id=table.ref,
                association=_associate(self, "PublicRouteTableAssociation", public.ref, table),
            )

    def nat_gateway(self, internet_exit: InternetExit) -> ec2.CfnNatGateway:
        """Make a NAT gateway, with an address of its own, in the public subnet."""
        if not self.public:
            raise ValueError("a NAT gateway needs a public subnet")
        address = ec2.CfnEIP(self, "NatAddress", domain="vpc", tags=_name(f"{self._tag}/nat"))
        internet_exit.add_dependent(address)
        gateway = ec2.CfnNatGateway(
            self,
            "NatGateway",
            subnet_id=self.public.subnet_id,
            allocation_id=address.attr_allocation_id,
            tags=_name(f"{self._tag}/nat"),
        )
        internet_exit.add_dependent(gateway)
        return gateway

    def add_default_route(self, nat_gateway: ec2.CfnNatGateway) -> ec2.CfnRoute:
        """Add the default route to `nat_gateway`."""
        return _default_route(self, self.route_table, nat_gateway_id=nat_gateway.ref)

    def _subnet(self, kind: str, cidr: str) -> ec2.CfnSubnet:
        tag = f"{self._tag}/{kind.lower()}"
        zone = self._availability_zone_id
        return _subnet(self, f"{kind}Subnet", self._ground, cidr, tag, availability_zone_id=zone)


def zone_cidrs(cidr: str, compute_cidr: str, *, zone: int) -> ZoneCidrs:
    """Return the CIDRs of the AZ at index `zone`. A token is treated as the largest block, a /16."""
    return ZoneCidrs(
        private=_part(cidr, primary_slots(), private_slot(zone)),
        public=_part(cidr, primary_slots(), public_slot(zone)),
        compute=_part(compute_cidr, *compute_slot(zone)),
    )


def database_cidrs(cidr: str, *, zones: int, subject: str) -> list[str]:
    """Return the CIDRs of the two database subnets, next to those of `zones` AZs; raise `FleetError` (LF699)."""
    slots = database_slots()
    if zones > slots[0]:
        raise_problems(
            [
                Problem(
                    code=Code.DATABASE_SUBNETS,
                    path=("availability_zone_ids",),
                    value=zones,
                    message=f"a network of {zones} AZs has no free CIDR block for the subnets of a database",
                    allowed=f"up to {slots[0]} AZs",
                    remedy="set your own subnets for the database, as `subnets`",
                )
            ],
            subject=subject,
        )
    return [_part(cidr, primary_slots(), private_slot(slot)) for slot in slots]


def load_balancer_cidrs(cidr: str, *, index: int) -> tuple[str, str]:
    """Return the CIDRs of the private and of the public subnet of the AZ at `index` for load balancers only."""
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


def make_zones(scope: Construct, ground: Ground, *, availability_zone_ids: Sequence[str]) -> list[Zone]:
    """Make the subnets of each AZ."""
    return [
        Zone(scope, zone_construct_id(zone_id, index), ground, availability_zone_id=zone_id, index=index)
        for index, zone_id in enumerate(availability_zone_ids)
    ]


def add_internet_routes(
    zones: Sequence[Zone], *, internet: InternetAccess, internet_exit: InternetExit | None
) -> tuple[list[ec2.CfnNatGateway], list[ec2.CfnRoute]]:
    """Make NAT gateways and default routes; return both, the routes with that of the public subnets first."""
    if not internet_exit:
        return [], []
    gateways = [zone.nat_gateway(internet_exit) for zone in zones[: nat_gateways(internet, len(zones))]]
    routes = [zone.add_default_route(gateways[min(index, len(gateways) - 1)]) for index, zone in enumerate(zones)]
    return gateways, [internet_exit.route, *routes]


class DatabaseSubnets(Construct):
    """Two subnets without internet access, in two AZs of the region.

    RDS requires two AZs, and most fleets have one, where their capacity is. So these are in the account's first two AZs
    by name: a database can be reached across AZs, and adding or removing an AZ of the fleet does not move a database's
    subnet. They use the last two parts of the primary block that are reserved for private subnets of AZs, the seventh
    and the eighth.
    """

    def __init__(self, scope: Construct, id: str, ground: Ground, *, zones: int) -> None:
        """Create them, in addition to the subnets of `zones` AZs, or only the route tables of existing ones.

        Raises `FleetError` (LF699) if the network has so many AZs that the block has no free part.
        """
        super().__init__(scope, id)
        self._made: list[ec2.CfnSubnet] = []
        self.subnets: list[ec2.ISubnet] = []
        for index, part in enumerate(database_cidrs(ground.cidr, zones=zones, subject=scope.node.path)):
            number, tag = index + 1, f"{ground.name}/database{index + 1}"
            table = _route_table(self, f"RouteTable{number}", ground, tag)
            if ground.database_subnet_ids:
                subnet_id = ground.database_subnet_ids[index]
            else:
                zone = cdk.Fn.select(index, cdk.Fn.get_azs())
                subnet = _subnet(self, f"Subnet{number}", ground, part, tag, availability_zone=zone)
                self._made.append(subnet)
                subnet_id = subnet.ref
            _associate(self, f"RouteTableAssociation{number}", subnet_id, table)
            self.subnets.append(
                ec2.Subnet.from_subnet_attributes(
                    self, f"Imported{number}", subnet_id=subnet_id, route_table_id=table.ref
                )
            )

    def keep(self) -> None:
        """Retain the subnets when the stack is deleted. Idempotent."""
        for subnet in self._made:
            subnet.apply_removal_policy(cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)


class LoadBalancerSubnets(Construct):
    """A private subnet, and a public one if the network has internet access, in each of some more AZs.

    A load balancer needs two AZs, and most fleets have one, where their capacity is. These use parts at the end of the
    primary block, so that adding an AZ for nodes or for load balancers moves no subnet.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        ground: Ground,
        *,
        availability_zone_ids: Sequence[str],
        nat_gateway_id: str | None,
    ) -> None:
        """Make them in the AZs of these ids.

        `nat_gateway_id`: internet access of the private ones; a load balancer in them may download an issuer's keys.
        """
        super().__init__(scope, id)
        self._ground = ground
        self.private: dict[str, ec2.ISubnet] = {}
        """By AZ id."""
        self.public: dict[str, ec2.ISubnet] = {}
        """By AZ id; none without internet access."""
        self.ways: list[IDependable] = []
        """Routes and their associations with subnets."""
        for index, zone_id in enumerate(availability_zone_ids):
            private, public = load_balancer_cidrs(ground.cidr, index=index)
            zone = Construct(self, zone_construct_id(zone_id, index))
            table = _route_table(zone, "RouteTable", ground, f"{ground.name}/{zone_id}/load-balancer/private")
            if nat_gateway_id:
                self.ways.append(_default_route(zone, table, nat_gateway_id=nat_gateway_id))
            self.private[zone_id] = self._add(zone, "Private", zone_id, private, table)
            if ground.internet_exit:
                table = ground.internet_exit.route_table
                self.public[zone_id] = self._add(zone, "Public", zone_id, public, table)

    def _add(self, zone: Construct, kind: str, zone_id: str, cidr: str, table: ec2.CfnRouteTable) -> ec2.ISubnet:
        tag = f"{self._ground.name}/{zone_id}/load-balancer/{kind.lower()}"
        subnet = _subnet(zone, f"{kind}Subnet", self._ground, cidr, tag, availability_zone_id=zone_id)
        self.ways.append(_associate(zone, f"{kind}RouteTableAssociation", subnet.ref, table))
        return ec2.Subnet.from_subnet_attributes(
            zone,
            kind,
            subnet_id=subnet.ref,
            availability_zone=subnet.attr_availability_zone,
            ipv4_cidr_block=cidr,
            route_table_id=table.ref,
        )
