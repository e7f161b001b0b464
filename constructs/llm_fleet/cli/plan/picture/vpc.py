"""The boxes around cards: VPCs, their Availability Zones, their subnets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.cli.plan.picture.thing import Thing
from llm_fleet.cli.plan.picture.view import View

EXISTING = "existing"
"""Key of the VPC whose subnets the assembly names and does not make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """One subnet."""

    key: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """One Availability Zone with its subnets."""

    title: str
    """E.g. `usw2-az4`; empty for subnets that exist already, whose zone no template tells."""
    subnets: tuple[Subnet, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vpc:
    """One VPC with its zones."""

    key: str
    title: str
    zones: tuple[Zone, ...]

    @property
    def subnets(self) -> tuple[str, ...]:
        """The keys of all of its subnets."""
        return tuple(subnet.key for zone in self.zones for subnet in zone.subnets)

    @property
    def places(self) -> Mapping[str, str]:
        """Where each subnet is, by its key: its zone, or its id if no template tells the zone."""
        return {subnet.key: zone.title or subnet.key for zone in self.zones for subnet in zone.subnets}


def vpcs_of(view: View, things: Iterable[Thing]) -> tuple[Vpc, ...]:
    """Return the VPCs that the assembly makes, and the one whose subnets it names."""
    made = [_made(view, vpc) for vpc in view.of_type("AWS::EC2::VPC")]
    known = {key for vpc in made for key in vpc.subnets}
    named = sorted({key for thing in things for key in thing.subnets} - known)
    if named:
        zone = Zone(title="", subnets=tuple(Subnet(key=key, title=f"subnet {key}") for key in named))
        made.append(Vpc(key=EXISTING, title="VPC that exists already", zones=(zone,)))
    return tuple(made)


def _made(view: View, vpc: Resource) -> Vpc:
    blocks = [view.references.told(vpc.properties.get("CidrBlock", "of IPAM"))]
    blocks += [
        view.references.told(one.properties.get("CidrBlock", "of IPAM"))
        for one in view.of_type("AWS::EC2::VPCCidrBlock")
        if vpc in view.named(one, one.properties.get("VpcId"))
    ]
    zones: dict[str, list[Subnet]] = {}
    for subnet in view.of_type("AWS::EC2::Subnet"):
        if vpc in view.named(subnet, subnet.properties.get("VpcId")):
            known = subnet.properties
            zone = known.get("AvailabilityZoneId") or known.get("AvailabilityZone")
            title = f"{_name(subnet)} subnet {view.references.told(known.get('CidrBlock', ''))}"
            zones.setdefault(view.references.told(zone), []).append(Subnet(key=subnet.key, title=title))
    return Vpc(
        key=vpc.key,
        title=f"VPC {' + '.join(blocks)}",
        zones=tuple(Zone(title=title, subnets=tuple(found)) for title, found in zones.items()),
    )


def _name(subnet: Resource) -> str:
    """Return the last part of its tag `Name`: compute, private, public."""
    tags = {tag["Key"]: tag["Value"] for tag in subnet.properties.get("Tags", ())}
    return str(tags.get("Name", subnet.logical_id)).rpartition("/")[2]
