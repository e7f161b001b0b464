"""What every network has, the addresses that are taken in it, and its gateways."""

from collections.abc import Iterable, Mapping

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, DependencyGroup, IDependable, IValidation

from llm_fleet.network.security_group import EfaSecurityGroup
from llm_fleet.rules.addresses import AddressClaim, AddressPlan, check_addresses, plan_addresses
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved


@jsii.implements(IValidation)
class AddressBook:
    """All claims on a network, and whether they fit together. Also the network's validation at synth."""

    def __init__(
        self,
        *,
        subnet_cidrs: Mapping[str, str | None],
        other_interfaces: Mapping[str, int] | None = None,
        interface_quota: int | None = None,
        region: str | None = None,
        existing: bool = False,
    ) -> None:
        """Open an empty book; the parameters are those of `plan_addresses` and `check_addresses`."""
        self._subnet_cidrs = subnet_cidrs
        self._other_interfaces = other_interfaces
        self._interface_quota = None if is_unresolved(interface_quota) else interface_quota
        self._region = None if is_unresolved(region) else region
        self._existing = existing
        self._claims: list[AddressClaim] = []

    @property
    def plan(self) -> AddressPlan:
        """What all claims so far need."""
        return plan_addresses(
            self._claims,
            subnet_cidrs=self._subnet_cidrs,
            other_interfaces=self._other_interfaces,
            interface_quota=self._interface_quota,
            existing=self._existing,
        )

    def reserve(self, claims: Iterable[AddressClaim]) -> list[Problem]:
        """Enter `claims` and return what does not fit now."""
        self._claims += claims
        return self.problems()

    def problems(self) -> list[Problem]:
        """Return what does not fit, each with a path that begins with `network`."""
        return [problem.under("network") for problem in check_addresses(self.plan, region=self._region)]

    def validate(self) -> list[str]:
        """Return the problems as text, for the CDK."""
        return [str(problem) for problem in self.problems()]


_ANYWHERE = "0.0.0.0/0"


class InternetExit(Construct):
    """An internet gateway attached to a VPC, and a route table for public subnets.

    NAT gateways, their addresses and the default route name the attachment as a dependency: nothing in their
    properties refers to it, and without it CloudFormation makes them, and fails, before the gateway is attached.
    """

    def __init__(self, scope: Construct, id: str, *, vpc_id: str, name: str) -> None:
        """Make it in the VPC `vpc_id`; `name` is what Name tags begin with."""
        super().__init__(scope, id)
        gateway = ec2.CfnInternetGateway(self, "Resource", tags=[cdk.CfnTag(key="Name", value=name)])
        self.attachment = ec2.CfnVPCGatewayAttachment(
            self, "Attachment", vpc_id=vpc_id, internet_gateway_id=gateway.ref
        )
        self.route_table = ec2.CfnRouteTable(
            self, "RouteTable", vpc_id=vpc_id, tags=[cdk.CfnTag(key="Name", value=f"{name}/public")]
        )
        self.route = ec2.CfnRoute(
            self,
            "DefaultRoute",
            route_table_id=self.route_table.ref,
            destination_cidr_block=_ANYWHERE,
            gateway_id=gateway.ref,
        )
        self.route.add_resource_dependency(self.attachment)
        cdk.Validations.of(self.route).acknowledge(
            cdk.Acknowledgment(
                id="NIST.800.53.R5-VPCNoUnrestrictedRouteToIGW",
                reason="Only the public subnets use this table. Nothing but NAT gateways and load balancers that are "
                "asked to be public stands in them, and they give out no public addresses: nodes reach package mirrors "
                "and registries through NAT alone.",
            )
        )


def zone_construct_id(availability_zone_id: str, index: int) -> str:
    """Return the construct id of an AZ: its own id, so that naming another AZ first moves no resource.

    An id known only at deploy time cannot name a construct; its place does.
    """
    return f"Az{index + 1}" if is_unresolved(availability_zone_id) else availability_zone_id


@jsii.implements(ec2.IConnectable)
class Network(Construct):
    """A VPC with one compute subnet an AZ, and the security group in which clusters and their mounts live.

    `FleetNetwork` makes one, `ExistingNetwork` takes one; each sets the attributes that begin with an underscore.
    """

    _vpc: ec2.IVpc
    _compute_subnets: Mapping[str, ec2.ISubnet]
    _security_group: ec2.ISecurityGroup
    _own_group: EfaSecurityGroup | None = None
    """The security group where it was made here."""
    _cidrs: tuple[str, ...]
    _book: AddressBook

    @property
    def vpc(self) -> ec2.IVpc:
        """The VPC. One that is made has the subnet groups `Public`, `Private` and `Compute`; of ids, `Compute`."""
        return self._vpc

    @property
    def internet(self) -> InternetAccess | None:
        """Whether its compute subnets have a way to the internet; `None` where nobody told."""
        return None

    @property
    def availability_zone_ids(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet, e.g. `("usw2-az4",)`; the first is where things go unless told otherwise."""
        return tuple(self._compute_subnets)

    @property
    def compute_subnets(self) -> Mapping[str, ec2.ISubnet]:
        """The compute subnet of each AZ id, in the order of `availability_zone_ids`."""
        return self._compute_subnets

    def compute_subnet(self, availability_zone_id: str | None = None) -> ec2.ISubnet:
        """Return the compute subnet of an AZ; of the first when none is named.

        Raises `FleetError` (LF206) for an AZ in which the network has no compute subnet.
        """
        zones = ", ".join(self._compute_subnets)
        zone = availability_zone_id or next(iter(self._compute_subnets))
        if zone not in self._compute_subnets:
            problem = Problem(
                code=Code.ZONE_WITHOUT_SUBNET,
                path=("availability_zone_id",),
                message=f"the network has no compute subnet in {zone}",
                value=zone,
                allowed=zones,
                remedy=f"choose one of {zones}, or add {zone} to the network's AZs",
            )
            raise_problems([problem], subject=self.node.path)
        return self._compute_subnets[zone]

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The group that every cluster and every mounting client of this network shares, with EFA's self-rules."""
        return self._security_group

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """The connections of `security_group`."""
        return self._security_group.connections

    @property
    def security_group_rules(self) -> IDependable:
        """The standing rules of a group made here. A file system must depend on them: FSx tests its port when made."""
        return self._own_group.rules if self._own_group else DependencyGroup()

    @property
    def connectivity(self) -> IDependable:
        """Routes, NAT and endpoints. A cluster must depend on them: its nodes reach S3 as soon as they boot."""
        return DependencyGroup()

    def reserve_addresses(self, claims: Iterable[AddressClaim]) -> list[Problem]:
        """Set addresses of the compute subnets aside, and return what does not fit with all that others have set aside.

        The caller raises the problems together with its own, as `raise_problems([...])`. One that forgets is still
        told, by the network's own validation at synth. Each problem's path begins with `network`. Claims in a subnet
        whose size nobody told (an existing network) always fit.
        """
        return self._book.reserve(claims)

    def database_subnets(self) -> list[ec2.ISubnet]:
        """Return subnets in different AZs for databases: two, or fewer where an existing network has no more."""
        raise NotImplementedError

    def load_balancer_subnets(self, *, public: bool) -> Mapping[str, ec2.ISubnet]:
        """Return the subnets for load balancers, by AZ id: public ones, or private ones.

        Empty where a network has none, or nobody told of them. Raises `FleetError` (LF756) where there is no room.
        """
        raise NotImplementedError

    @property
    def cidrs(self) -> tuple[str, ...]:
        """The blocks of the VPC; empty where nobody told."""
        return self._cidrs

    def keep(self) -> None:
        """Keep, when the stack is deleted, all that a retained file system still stands in. Idempotent."""
        if self._own_group:
            self._own_group.keep()
