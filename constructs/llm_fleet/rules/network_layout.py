"""How the CIDR blocks of a network are split into subnets."""

from collections.abc import Sequence
from ipaddress import IPv4Network
from itertools import islice

from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.tokens import is_unresolved


def primary_slots() -> int:
    """Return into how many equal parts the primary CIDR is cut: a private and a public one for each possible AZ.

    The number does not depend on the AZs in use, so that one more AZ moves no subnet.
    """
    return 2 * address_facts().most_zones


def private_slot(zone: int) -> int:
    """Return which part is the private subnet of the AZ at index `zone`."""
    return zone


def public_slot(zone: int) -> int:
    """Return which part is the public subnet of the AZ at index `zone`."""
    return address_facts().most_zones + zone


def database_slots() -> tuple[int, int]:
    """Return the zones' indexes whose private parts the subnets for databases take: the last two."""
    most = address_facts().most_zones
    return most - 2, most - 1


def load_balancer_zone(index: int) -> tuple[int, int]:
    """Return the zones' indexes whose private and whose public part the AZ at `index` for load balancers takes.

    From the end, where the next AZ with nodes does not come: the private parts before those for databases, of which the
    public ones are free.
    """
    most = address_facts().most_zones
    return most - len(database_slots()) - 1 - index, most - 1 - index


def most_load_balancer_zones(zones: int) -> int:
    """Return for how many AZs of load balancers there is room beside `zones` AZs with nodes."""
    return max(0, address_facts().most_zones - len(database_slots()) - zones)


def compute_slot(zone: int) -> tuple[int, int]:
    """Return into how many equal parts the compute CIDR is cut for the AZ at index `zone`, and which of them it takes.

    Each AZ takes half of what those before it have left: the first a half of the block, the second a quarter. So the
    first one, where the capacity is, keeps a large subnet, and an AZ that is appended later finds room without moving
    the others. A subnet that moves is replaced, and made before the old one is deleted: EC2 would refuse it
    (`InvalidSubnet.Conflict`).
    """
    slots = 2 ** (zone + 1)
    return slots, slots - 2


def slice_cidr(cidr: str, slots: int, slot: int) -> str:
    """Return part `slot` of `cidr` cut into `slots` equal parts (a power of two).

    Raises `ValueError` when a part would be smaller than one address; `rules.network_cidrs` tells that beforehand.
    """
    block = IPv4Network(cidr)
    parts = block.subnets(prefixlen_diff=(slots - 1).bit_length())
    return str(next(islice(parts, slot, None)))


def compute_subnet_cidrs(compute_cidr: str, availability_zone_ids: Sequence[str]) -> dict[str, str | None]:
    """Return the compute subnet of each AZ id, see `compute_slot`. `None` where `compute_cidr` is a CDK token."""
    if is_unresolved(compute_cidr):
        return dict.fromkeys(availability_zone_ids)
    return {zone: slice_cidr(compute_cidr, *compute_slot(index)) for index, zone in enumerate(availability_zone_ids)}
