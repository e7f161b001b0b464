"""A network that exists already."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.network.network import AddressBook, Network, zone_construct_id
from llm_fleet.network.security_group import EfaSecurityGroup
from llm_fleet.references import region_of
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.network import check_existing_network
from llm_fleet.rules.problem import raise_problems
from llm_fleet.spec.network import ExistingNetworkSpec
from llm_fleet.spec.references import SecurityGroup, Subnet


class ExistingNetwork(Network):
    """A VPC and compute subnets made elsewhere, which must reach S3 and what else nodes need by themselves."""

    def __init__(self, scope: Construct, id: str, existing: ExistingNetworkSpec) -> None:
        """Take the network as it is; nothing is looked up.

        The self-rules of a group given by id are its owner's, and so is what it lets out. What is added to it are rules
        inward, from file systems and further groups, which go with those. That a group lets all traffic in from, and
        out to, itself cannot be checked at synth. Without a group an `EfaSecurityGroup` is made.
        Raises `FleetError` (LF201, LF206 to LF215) for ids, AZs and blocks that are none.
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
        """Return the compute subnets of the first two AZs: no others are known. One, where there is only one AZ."""
        return list(self._compute_subnets.values())[:2]

    def load_balancer_subnets(self, *, public: bool) -> Mapping[str, ec2.ISubnet]:
        """Return those that were told; private ones are the compute subnets unless others were."""
        return MappingProxyType(dict(self._load_balancer_subnets[public]))


def _vpc(scope: Construct, existing: ExistingNetworkSpec) -> ec2.IVpc:
    """Return the VPC; of an id, with a subnet group `Compute`. AZ ids stand where the CDK asks for names: not known."""
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
    """Return the compute subnets by AZ id; those of ids are the VPC's own where that is of an id too."""
    if not isinstance(existing.vpc, str):
        return _subnets(scope, "Compute", existing.subnets)
    of_vpc = zip(existing.subnets.items(), vpc.private_subnets, strict=True)
    return {zone: own if isinstance(given, str) else cast(ec2.ISubnet, given) for (zone, given), own in of_vpc}


def _security_group(scope: Construct, given: SecurityGroup | None) -> ec2.ISecurityGroup:
    """Return the group that was given; to one of an id the CDK adds no rules."""
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
    """Return the block of `vpc`; none where the CDK throws, of an imported VPC whose block is not known."""
    try:
        return (vpc.vpc_cidr_block,)
    except RuntimeError:
        return ()
