"""Networks: their attributes and reserved addresses, and existing networks."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import cast

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, DependencyGroup, IDependable, IValidation

from llm_fleet.network.security_group import EfaSecurityGroup
from llm_fleet.references import region_of
from llm_fleet.rules.addresses import AddressClaim, AddressPlan, check_addresses, plan_addresses
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.network import check_existing_network
from llm_fleet.rules.problem import Problem, is_unresolved, raise_problems
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.network import ExistingNetworkSpec
from llm_fleet.spec.references import SecurityGroup, Subnet


@jsii.implements(IValidation)
class AddressBook:
    """The reserved addresses of a network, and its validation at synth."""

    def __init__(
        self,
        *,
        subnet_cidrs: Mapping[str, str | None],
        other_interfaces: Mapping[str, int] | None = None,
        interface_quota: int | None = None,
        region: str | None = None,
        existing: bool = False,
    ) -> None:
        """Start without claims; the parameters are those of `plan_addresses` and `check_addresses`."""
        self._subnet_cidrs = subnet_cidrs
        self._other_interfaces = other_interfaces
        self._interface_quota = None if is_unresolved(interface_quota) else interface_quota
        self._region = None if is_unresolved(region) else region
        self._existing = existing
        self._claims: list[AddressClaim] = []

    @property
    def plan(self) -> AddressPlan:
        """The address plan of all claims so far."""
        return plan_addresses(
            self._claims,
            subnet_cidrs=self._subnet_cidrs,
            other_interfaces=self._other_interfaces,
            interface_quota=self._interface_quota,
            existing=self._existing,
        )

    def reserve(self, claims: Iterable[AddressClaim]) -> list[Problem]:
        """Add `claims` and return problems of those that do not fit."""
        self._claims += claims
        return self.problems()

    def problems(self) -> list[Problem]:
        """Return problems of claims that do not fit, each with a path that begins with `network`."""
        return [problem.under("network") for problem in check_addresses(self.plan, region=self._region)]

    def validate(self) -> list[str]:
        """Return the problems as text, for the CDK."""
        return [str(problem) for problem in self.problems()]


def zone_construct_id(availability_zone_id: str, index: int) -> str:
    """Return the construct id of an AZ: its own id, so that another order of AZs changes no resource.

    A CDK token cannot be a construct id; its index is used.
    """
    return f"Az{index + 1}" if is_unresolved(availability_zone_id) else availability_zone_id


@jsii.implements(ec2.IConnectable)
class Network(Construct):
    """A VPC with one compute subnet in each AZ, and the security group of clusters and their mounts.

    `FleetNetwork` creates one, `ExistingNetwork` imports one; each sets the attributes that begin with an underscore.
    """

    _vpc: ec2.IVpc
    _compute_subnets: Mapping[str, ec2.ISubnet]
    _security_group: ec2.ISecurityGroup
    _own_group: EfaSecurityGroup | None = None
    """The security group if it was created here."""
    _cidrs: tuple[str, ...]
    _book: AddressBook

    @property
    def vpc(self) -> ec2.IVpc:
        """The VPC. A created one has the subnet groups `Public`, `Private` and `Compute`; of ids, `Compute`."""
        return self._vpc

    @property
    def internet(self) -> InternetAccess | None:
        """Whether its compute subnets have internet access; `None` if unknown."""
        return None

    @property
    def availability_zone_ids(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet, e.g. `("usw2-az4",)`; the first is the default AZ."""
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
        """The self-rules of a group created here. A file system must depend on them: FSx tests its port at creation."""
        return self._own_group.rules if self._own_group else DependencyGroup()

    @property
    def connectivity(self) -> IDependable:
        """Routes, NAT and endpoints. A cluster must depend on them: its nodes reach S3 as soon as they boot."""
        return DependencyGroup()

    def reserve_addresses(self, claims: Iterable[AddressClaim]) -> list[Problem]:
        """Reserve addresses of the compute subnets, and return the problems together with all other reservations.

        The caller raises the problems together with its own, as `raise_problems([...])`. If it does not, the
        network's own validation reports them at synth. Each problem's path begins with `network`. Claims in a subnet
        of unknown size (an existing network) always fit.
        """
        return self._book.reserve(claims)

    def database_subnets(self) -> list[ec2.ISubnet]:
        """Return subnets in different AZs for databases: two, or fewer if an existing network has no more."""
        raise NotImplementedError

    def load_balancer_subnets(self, *, public: bool) -> Mapping[str, ec2.ISubnet]:
        """Return the subnets for load balancers, by AZ id: public ones, or private ones.

        Empty where a network has none, or they are unknown. Raises `FleetError` (LF756) if the VPC has no free
        addresses.
        """
        raise NotImplementedError

    @property
    def cidrs(self) -> tuple[str, ...]:
        """The blocks of the VPC; empty if unknown."""
        return self._cidrs

    def keep(self) -> None:
        """Retain, when the stack is deleted, everything that a retained file system uses. Idempotent."""
        if self._own_group:
            self._own_group.keep()


class ExistingNetwork(Network):
    """A VPC and compute subnets created elsewhere, with their own routes to S3 and other services that nodes need."""

    def __init__(self, scope: Construct, id: str, existing: ExistingNetworkSpec) -> None:
        """Import the network; nothing is looked up.

        The self-rules and outbound rules of a group given by id are not changed. Only inbound rules are added to it,
        from file systems and other groups, and deleted with them. Whether a group allows all inbound and outbound
        traffic from and to itself cannot be checked at synth. Without a group an `EfaSecurityGroup` is created.
        Raises `FleetError` (LF201, LF206 to LF215) for invalid ids, AZs and CIDR blocks.
        """
        path = f"{scope.node.path}/{id}"
        raise_problems(check_is_spec(existing, ExistingNetworkSpec, "existing"), subject=path)
        raise_problems(check_existing_network(existing, region=region_of(scope)), subject=path)
        imported = Construct(scope, f"{id}Imported")
        super().__init__(scope, id)
        self._vpc = _vpc(imported, existing)
        self._compute_subnets = MappingProxyType(_compute_subnets(imported, existing, self._vpc))
        if existing.security_group is None:
            self._own_group = EfaSecurityGroup(self, "SecurityGroup", vpc=self._vpc)
        self._security_group = self._own_group or _security_group(imported, existing.security_group)
        self._book = AddressBook(
            subnet_cidrs={zone: existing.compute_cidrs.get(zone) for zone in existing.subnets},
            region=region_of(self),
            existing=True,
        )
        self.node.add_validation(self._book)
        self._load_balancer_subnets = {
            False: _subnets(imported, "Private", existing.private_subnets) or self._compute_subnets,
            True: _subnets(imported, "Public", existing.public_subnets),
        }
        self._cidrs = tuple(existing.vpc_cidrs) or _known_cidrs(self._vpc)

    def database_subnets(self) -> list[ec2.ISubnet]:
        """Return the compute subnets of the first two AZs, because no others are known; one if there is only one AZ."""
        return list(self._compute_subnets.values())[:2]

    def load_balancer_subnets(self, *, public: bool) -> Mapping[str, ec2.ISubnet]:
        """Return the given subnets; by default, the private ones are the compute subnets."""
        return MappingProxyType(dict(self._load_balancer_subnets[public]))


def _vpc(scope: Construct, existing: ExistingNetworkSpec) -> ec2.IVpc:
    """Return the VPC; of an id, with a subnet group `Compute`. AZ ids are used as AZ names, which are unknown."""
    if not isinstance(existing.vpc, str):
        return cast(ec2.IVpc, existing.vpc)
    vpc = ec2.Vpc.from_vpc_attributes(
        scope,
        "Vpc",
        vpc_id=existing.vpc,
        availability_zones=list(existing.subnets),
        private_subnet_ids=list(existing.subnet_ids.values()),
        private_subnet_names=["Compute"],
    )
    for subnet in vpc.private_subnets:
        _acknowledge_no_table(subnet)
    return vpc


def _compute_subnets(scope: Construct, existing: ExistingNetworkSpec, vpc: ec2.IVpc) -> dict[str, ec2.ISubnet]:
    """Return the compute subnets by AZ id; those given by ids belong to the VPC if that is given by id too."""
    if not isinstance(existing.vpc, str):
        return _subnets(scope, "Compute", existing.subnets)
    of_vpc = zip(existing.subnets.items(), vpc.private_subnets, strict=True)
    return {zone: own if isinstance(given, str) else cast(ec2.ISubnet, given) for (zone, given), own in of_vpc}


def _security_group(scope: Construct, given: SecurityGroup | None) -> ec2.ISecurityGroup:
    """Return the given group; the CDK adds no rules to one given by id."""
    if isinstance(given, str):
        return ec2.SecurityGroup.from_security_group_id(scope, "SecurityGroup", given, mutable=False)
    return cast(ec2.ISecurityGroup, given)


def _subnets(scope: Construct, kind: str, subnets: Mapping[str, Subnet]) -> dict[str, ec2.ISubnet]:
    """Return the subnets by AZ id; those of ids are imported."""
    found: dict[str, ec2.ISubnet] = {}
    for index, (zone, given) in enumerate(subnets.items()):
        if isinstance(given, str):
            found[zone] = ec2.Subnet.from_subnet_attributes(
                scope, f"{kind}{zone_construct_id(zone, index)}", subnet_id=given, availability_zone=zone
            )
            _acknowledge_no_table(found[zone])
        else:
            found[zone] = cast(ec2.ISubnet, given)
    return found


def _acknowledge_no_table(subnet: ec2.ISubnet) -> None:
    cdk.Annotations.of(subnet).acknowledge_warning(
        "@aws-cdk/aws-ec2:noSubnetRouteTableId", "nothing here reads or changes routes of an existing network"
    )


def _known_cidrs(vpc: ec2.IVpc) -> tuple[str, ...]:
    """Return the block of `vpc`; none if the CDK throws, for an imported VPC with an unknown block."""
    try:
        return (vpc.vpc_cidr_block,)
    except RuntimeError:
        return ()
