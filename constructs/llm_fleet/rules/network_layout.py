"""The AZs of a network, its CIDR blocks, and how they are split into subnets."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Network
from itertools import islice

from llm_fleet.catalog.network import address_facts, az_id_prefix, region_of_az_id, regions
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.values import did_you_mean

_ZONE_NAME = re.compile(r"[a-z]+(-[a-z]+)+-\d[a-z]")


@rule
def check_zones(availability_zone_ids: Sequence[str], *, region: str | None = None) -> Iterator[Problem]:
    """Return what is wrong with the AZs. `region` is `None` when it is resolved at deployment."""
    most = address_facts().most_zones
    if not availability_zone_ids:
        yield Problem(
            code=Code.ZONE_MISSING,
            path=("availability_zone_ids",),
            message="at least one AZ is required",
            allowed=f"1 to {most} AZ ids",
            remedy=f"write the id of the AZ in which your capacity is{_example(region)}",
        )
        return
    for index, zone in enumerate(availability_zone_ids):
        if is_unresolved(zone):
            continue
        yield from _check_zone(index, zone, region)
        if zone in availability_zone_ids[:index]:
            yield Problem(
                code=Code.ZONE_TWICE,
                path=("availability_zone_ids", index),
                message=f"{zone} is listed twice",
                value=zone,
                allowed="each AZ once",
                remedy="remove one of them: all groups in an AZ share its compute subnet",
            )
    if len(availability_zone_ids) > most:
        yield Problem(
            code=Code.ZONE_LIMIT,
            path=("availability_zone_ids",),
            message=f"a network can have at most {most} AZs, and this one has {len(availability_zone_ids)}",
            value=list(availability_zone_ids),
            allowed=f"1 to {most} AZ ids",
            remedy="keep the AZs in which you have capacity",
        )


ANYWHERE = ("0.0.0.0/1", "128.0.0.0/1")
"""All addresses in two halves. CloudFormation treats one rule for `0.0.0.0/0` as the default rule of EC2, and removes
it as soon as any stack adds another outbound rule, e.g. one to a file system.
assumption: cloudformation-egress-removes-everything-out"""


def _check_zone(index: int, zone: str, region: str | None) -> Iterator[Problem]:
    path = ("availability_zone_ids", index)
    prefix = az_id_prefix(zone)
    if not prefix:
        name = _ZONE_NAME.fullmatch(zone)
        yield Problem(
            code=Code.ZONE_ID,
            path=path,
            message=f"{zone} is the name of an AZ, which means a different AZ in each account"
            if name
            else f"{zone!r} is not an AZ id",
            value=zone,
            allowed=f"an AZ id{_example(region)}",
            remedy="write the AZ id, which `aws ec2 describe-availability-zones --query "
            f"'AvailabilityZones[].[ZoneName,ZoneId]'{f' --region {region}' if region else ''}` shows",
        )
        return
    expected = _prefix_of(region)
    home = region_of_az_id(zone) or "its own region"
    if expected and prefix != expected:
        yield Problem(
            code=Code.ZONE_REGION,
            path=path,
            message=f"{zone} is not in {region}",
            value=zone,
            allowed=f"AZ ids that begin with {expected}-",
            remedy=f"choose an AZ of {region}{_example(region)}, or deploy to {home}",
        )


def _prefix_of(region: str | None) -> str | None:
    """Return the prefix of AZ ids in `region`; `None` when it is `None`, a CDK token, or not in the catalog."""
    facts = regions().get(region) if region and not is_unresolved(region) else None
    return facts.az_id_prefix if facts else None


def _example(region: str | None) -> str:
    return f", e.g. {_prefix_of(region) or 'usw2'}-az1"


@rule
def check_cidrs(cidr: str, compute_cidr: str) -> Iterator[Problem]:
    """Return what is wrong with the primary and the secondary CIDR block, and with their combination."""
    good: list[IPv4Network] = []
    for name, text in (("cidr", cidr), ("compute_cidr", compute_cidr)):
        if not is_unresolved(text):
            found = check_block(text, name)
            if not found:
                block = IPv4Network(text)
                found = [*_check_size(name, block), *_check_range(name, block)]
                good += [] if found else [block]
            yield from found
    if len(good) == 2:
        yield from _check_together(*good)


def check_vpc_cidrs(cidrs: Sequence[str]) -> list[Problem]:
    """Return a problem for each of an existing VPC's blocks that is not a CIDR block."""
    return [problem for text in cidrs for problem in check_block(text, "vpc_cidrs")]


@rule
def check_subnet_cidrs(cidrs: Mapping[str, str], zones: Collection[str]) -> Iterator[Problem]:
    """Return a problem for each invalid block of an existing network, and for blocks of AZs without compute subnet."""
    for zone, text in cidrs.items():
        if zone in zones:
            yield from check_block(text, "compute_cidrs", zone)
        else:
            yield Problem(
                code=Code.ZONE_WITHOUT_SUBNET,
                path=("compute_cidrs", zone),
                message=f"the network has no compute subnet in {zone}",
                value=zone,
                allowed=", ".join(zones),
                remedy=did_you_mean(zone, zones, otherwise="write an AZ of `subnets`, or remove it"),
            )


@rule
def check_block(text: str, *path: str) -> Iterator[Problem]:
    """Return what is wrong with the form of an IPv4 CIDR block."""
    if is_unresolved(text):
        return
    try:
        block = IPv4Network(text, strict=False) if "/" in text else None
    except ValueError:
        block = None
    if block is None:
        yield Problem(
            code=Code.CIDR_INVALID,
            path=path,
            message=f"{text!r} is not an IPv4 CIDR block",
            value=text,
            allowed="an address and a prefix length, e.g. 10.0.0.0/16",
            remedy="write the block with its prefix length, e.g. 10.0.0.0/16",
        )
    elif str(block) != text:
        yield Problem(
            code=Code.CIDR_INVALID,
            path=path,
            message=f"{text!r} has bits set outside its prefix length",
            value=text,
            allowed="the first address of the block and its prefix length",
            remedy=f"write `{block}`",
        )


def _check_size(name: str, block: IPv4Network) -> Iterator[Problem]:
    facts = address_facts()
    if facts.largest_block_prefix <= block.prefixlen <= facts.smallest_block_prefix:
        return
    sizes = f"/{facts.largest_block_prefix} to /{facts.smallest_block_prefix}"
    yield Problem(
        code=Code.CIDR_SIZE,
        path=(name,),
        message=f"a VPC cannot have a CIDR block of /{block.prefixlen}",
        value=str(block),
        allowed=sizes,
        remedy=f"write a block of {sizes}",
    )


def _check_range(name: str, block: IPv4Network) -> Iterator[Problem]:
    """Public ranges, and the range of Docker's bridge network on every node, are problems (Amazon VPC User Guide)."""
    docker, private = address_facts().docker_bridge, address_facts().private_ranges
    if block.overlaps(IPv4Network(docker)):
        yield Problem(
            code=Code.CIDR_RANGE,
            path=(name,),
            message=f"{block} overlaps {docker}, the range of Docker's bridge network on every node",
            value=str(block),
            allowed=f"{', '.join(private)}, without {docker}",
            remedy="write another private block, e.g. 10.0.0.0/16",
        )
    elif not _home(block, private):
        yield Problem(
            code=Code.CIDR_RANGE,
            path=(name,),
            message=f"{block} is not a private range",
            value=str(block),
            allowed=", ".join(private),
            remedy="write a block inside one of the allowed ranges, e.g. 10.0.0.0/16",
        )


def _check_together(primary: IPv4Network, secondary: IPv4Network) -> Iterator[Problem]:
    refusals = (
        each
        for each in address_facts().association_rules
        if primary.subnet_of(IPv4Network(each.primary)) and _home(secondary, each.refused)
    )
    if primary.overlaps(secondary):
        yield Problem(
            code=Code.CIDR_OVERLAP,
            path=("compute_cidr",),
            message=f"compute_cidr {secondary} overlaps cidr {primary}",
            value=str(secondary),
            allowed=f"a block that does not overlap {primary}",
            remedy="write a block that does not overlap, e.g. the next one of the same size",
        )
    elif refused := next(refusals, None):
        yield Problem(
            code=Code.CIDR_ASSOCIATION,
            path=("compute_cidr",),
            message=f"AWS rejects {secondary} as secondary CIDR block of a VPC with the primary block {primary}",
            value=str(secondary),
            allowed=f"a block outside {', '.join(refused.refused)}",
            remedy=f"write a compute_cidr from {refused.instead}",
        )


def _home(block: IPv4Network, ranges: Iterable[str]) -> bool:
    return any(block.subnet_of(IPv4Network(outer)) for outer in ranges)


def primary_slots() -> int:
    """Return the number of equal parts of the primary CIDR: a private and a public one for each possible AZ.

    The number does not depend on the AZs in use, so that adding an AZ changes no subnet.
    """
    return 2 * address_facts().most_zones


def private_slot(zone: int) -> int:
    """Return the part of the private subnet of the AZ at index `zone`."""
    return zone


def public_slot(zone: int) -> int:
    """Return the part of the public subnet of the AZ at index `zone`."""
    return address_facts().most_zones + zone


def database_slots() -> tuple[int, int]:
    """Return the zone indexes whose private parts are the subnets for databases: the last two."""
    most = address_facts().most_zones
    return most - 2, most - 1


def load_balancer_zone(index: int) -> tuple[int, int]:
    """Return the zone indexes of the private and the public part of the AZ at `index` for load balancers.

    They are taken from the end, and AZs with nodes from the start: private parts before those for databases, whose
    public parts are free.
    """
    most = address_facts().most_zones
    return most - len(database_slots()) - 1 - index, most - 1 - index


def most_load_balancer_zones(zones: int) -> int:
    """Return the maximum number of AZs for load balancers in addition to `zones` AZs with nodes."""
    return max(0, address_facts().most_zones - len(database_slots()) - zones)


def compute_slot(zone: int) -> tuple[int, int]:
    """Return the number of equal parts of the compute CIDR for the AZ at index `zone`, and the index of its part.

    Each AZ gets half of the remaining addresses: the first half of the block, the second a quarter. So the
    first one, where the capacity is, has a large subnet, and an AZ can be appended later without changing
    the others. CloudFormation creates a changed subnet before it deletes the old one, which EC2 would reject
    (`InvalidSubnet.Conflict`).
    """
    slots = 2 ** (zone + 1)
    return slots, slots - 2


def slice_cidr(cidr: str, slots: int, slot: int) -> str:
    """Return part `slot` of `cidr` split into `slots` equal parts (a power of two).

    Raises `ValueError` when a part would be smaller than one address; `check_cidrs` reports that beforehand.
    """
    block = IPv4Network(cidr)
    parts = block.subnets(prefixlen_diff=(slots - 1).bit_length())
    return str(next(islice(parts, slot, None)))


def compute_subnet_cidrs(compute_cidr: str, availability_zone_ids: Sequence[str]) -> dict[str, str | None]:
    """Return the compute subnet of each AZ id, see `compute_slot`. `None` where `compute_cidr` is a CDK token."""
    if is_unresolved(compute_cidr):
        return dict.fromkeys(availability_zone_ids)
    return {zone: slice_cidr(compute_cidr, *compute_slot(index)) for index, zone in enumerate(availability_zone_ids)}
