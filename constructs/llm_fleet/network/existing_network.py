"""A network that exists already."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, DependencyGroup, IDependable

from llm_fleet.network.network import AddressBook, zone_construct_id
from llm_fleet.network.security_group import EfaSecurityGroup
from llm_fleet.network.zones import subnet_of
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.network import check_existing_network
from llm_fleet.rules.network_cidrs import check_subnet_cidrs
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.network_zones import check_zones
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.network import ExistingNetworkSpec


@jsii.implements(ec2.IConnectable)
class ExistingNetwork(Construct):
    """A VPC and compute subnets made elsewhere, which must reach S3 and what else nodes need by themselves."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        compute_subnets: Mapping[str, ec2.ISubnet],
        security_group: ec2.ISecurityGroup | None = None,
        compute_cidrs: Mapping[str, str] | None = None,
        private_subnets: Mapping[str, ec2.ISubnet] | None = None,
        public_subnets: Mapping[str, ec2.ISubnet] | None = None,
        vpc_cidrs: Sequence[str] = (),
    ) -> None:
        """Take the network as it is.

        - `vpc`: the VPC.
        - `compute_subnets`: a subnet for each AZ id; the first AZ is the default one.
        - `security_group`: the group of nodes and mounts. It must let all traffic in from, and out to, itself, which
          nobody can check at synth. Default: a new `EfaSecurityGroup`.
        - `compute_cidrs`: the CIDR of each compute subnet, by AZ id, so that synth tells what does not fit. Default:
          unknown, and everything fits.
        - `private_subnets`, `public_subnets`: subnets for load balancers, by AZ id: two AZs at least, and all that have
          a compute subnet. Default: private ones are the compute subnets; there are no public ones.
        - `vpc_cidrs`: the VPC's blocks, from which a private load balancer may be reached. Default: that of `vpc`,
          where the CDK knows it.

        Raises `FleetError` for AZ ids that are none, or not of the region, and for `compute_cidrs` that are no blocks.
        """
        region = cdk.Stack.of(scope).region
        raise_problems(
            [
                *check_zones(tuple(compute_subnets), region=None if is_unresolved(region) else region),
                *check_subnet_cidrs(compute_cidrs or {}, compute_subnets),
            ],
            subject=f"{scope.node.path}/{id}",
        )
        super().__init__(scope, id)
        self._vpc = vpc
        self._compute_subnets = MappingProxyType(dict(compute_subnets))
        self._own_group: EfaSecurityGroup | None = None
        if security_group is None:
            security_group = self._own_group = EfaSecurityGroup(self, "SecurityGroup", vpc=vpc)
        self._security_group = security_group
        self._book = AddressBook(
            subnet_cidrs={zone: (compute_cidrs or {}).get(zone) for zone in compute_subnets},
            region=region,
            existing=True,
        )
        self.node.add_validation(self._book)
        self._load_balancer_subnets = {False: private_subnets or compute_subnets, True: public_subnets or {}}
        self._cidrs = tuple(vpc_cidrs) or _known_cidrs(vpc)

    @staticmethod
    def from_ids(scope: Construct, id: str, existing: ExistingNetworkSpec) -> "ExistingNetwork":
        """Return the network of these ids; nothing is looked up.

        The self-rules of a group given by id are its owner's, and so is what it lets out. What is added to it are rules
        inward, from file systems and further groups, which go with those.
        Raises `FleetError` (LF201, LF206 to LF215) for ids, AZs and blocks that are none.
        """
        path = f"{scope.node.path}/{id}"
        raise_problems(check_is_spec(existing, ExistingNetworkSpec, "existing"), subject=path)
        region = cdk.Stack.of(scope).region
        raise_problems(check_existing_network(existing, region=None if is_unresolved(region) else region), subject=path)
        imported = Construct(scope, f"{id}Imported")
        vpc = _vpc(imported, existing.vpc_id, existing.subnets)
        return ExistingNetwork(
            scope,
            id,
            vpc=vpc,
            compute_subnets=dict(zip(existing.subnets, vpc.private_subnets, strict=True)),
            security_group=ec2.SecurityGroup.from_security_group_id(
                imported, "SecurityGroup", existing.security_group_id, mutable=False
            )
            if existing.security_group_id
            else None,
            compute_cidrs=existing.compute_cidrs,
            private_subnets=_subnets(imported, "Private", existing.private_subnets),
            public_subnets=_subnets(imported, "Public", existing.public_subnets),
            vpc_cidrs=existing.vpc_cidrs,
        )

    @property
    def vpc(self) -> ec2.IVpc:
        """The VPC; made from ids alone, it has one subnet group, `Compute`."""
        return self._vpc

    @property
    def internet(self) -> InternetAccess | None:
        """Nobody told."""
        return None

    @property
    def availability_zone_ids(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet; the first is the default one."""
        return tuple(self._compute_subnets)

    @property
    def compute_subnets(self) -> Mapping[str, ec2.ISubnet]:
        """The compute subnet of each AZ id."""
        return self._compute_subnets

    def compute_subnet(self, availability_zone_id: str | None = None) -> ec2.ISubnet:
        """Return the compute subnet of an AZ, of the first when none is named. Raises `FleetError` (LF206)."""
        return subnet_of(self._compute_subnets, availability_zone_id, subject=self.node.path)

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The group that was given, or the one made."""
        return self._security_group

    @property
    def connections(self) -> ec2.Connections:
        """The connections of `security_group`."""
        return self._security_group.connections

    @property
    def security_group_rules(self) -> IDependable:
        """The standing rules of a group made here; nothing to wait for otherwise."""
        return self._own_group.rules if self._own_group else DependencyGroup()

    @property
    def connectivity(self) -> IDependable:
        """Nothing to wait for: the network exists."""
        return DependencyGroup()

    def reserve_addresses(self, claims: Iterable[AddressClaim]) -> list[Problem]:
        """Set addresses aside, where the size of the subnet was told; see `Network`."""
        return self._book.reserve(claims)

    def database_subnets(self) -> list[ec2.ISubnet]:
        """Return the compute subnets of the first two AZs: nobody told of others. One, where there is only one AZ."""
        return list(self._compute_subnets.values())[:2]

    def load_balancer_subnets(self, *, public: bool) -> Mapping[str, ec2.ISubnet]:
        """Return those that were told; private ones are the compute subnets unless others were."""
        return MappingProxyType(dict(self._load_balancer_subnets[public]))

    @property
    def cidrs(self) -> tuple[str, ...]:
        """The blocks that were told, or the one that the CDK knows."""
        return self._cidrs

    def keep(self) -> None:
        """Keep the security group if it was made here: a retained file system still uses it. Idempotent."""
        if self._own_group:
            self._own_group.keep()


def _vpc(scope: Construct, vpc_id: str, subnets: Mapping[str, str]) -> ec2.IVpc:
    """Return the VPC with a subnet group `Compute`. AZ ids stand where the CDK asks for names, which nobody told."""
    vpc = ec2.Vpc.from_vpc_attributes(
        scope,
        "Vpc",
        vpc_id=vpc_id,
        availability_zones=list(subnets),
        private_subnet_ids=list(subnets.values()),
        private_subnet_names=["Compute"],
    )
    for subnet in vpc.private_subnets:
        _acknowledge_no_table(subnet)
    return vpc


def _subnets(scope: Construct, kind: str, subnets: Mapping[str, str]) -> dict[str, ec2.ISubnet]:
    imported = {
        zone: ec2.Subnet.from_subnet_attributes(
            scope, f"{kind}{zone_construct_id(zone, index)}", subnet_id=subnet_id, availability_zone=zone
        )
        for index, (zone, subnet_id) in enumerate(subnets.items())
    }
    for subnet in imported.values():
        _acknowledge_no_table(subnet)
    return imported


def _acknowledge_no_table(subnet: ec2.ISubnet) -> None:
    cdk.Annotations.of(subnet).acknowledge_warning(
        "@aws-cdk/aws-ec2:noSubnetRouteTableId", "nothing here reads or changes routes of an existing network"
    )


def _known_cidrs(vpc: ec2.IVpc) -> tuple[str, ...]:
    """Return the block of `vpc`; none where the CDK throws, of an imported VPC whose block nobody told."""
    try:
        return (vpc.vpc_cidr_block,)
    except RuntimeError:
        return ()
