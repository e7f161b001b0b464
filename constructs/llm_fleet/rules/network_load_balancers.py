"""Where load balancers stand: in two AZs or more, in all that their targets stand in, in subnets with room to grow.

Source: https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html (subnets)
"""

from collections.abc import Sequence
from dataclasses import replace

from llm_fleet.catalog.network import address_facts
from llm_fleet.catalog.service import front_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network_layout import most_load_balancer_zones, primary_slots
from llm_fleet.rules.network_zones import check_zones
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_PATH = "load_balancer_zone_ids"


def check_load_balancer_zones(
    load_balancer_zone_ids: Sequence[str], *, availability_zone_ids: Sequence[str], region: str | None = None
) -> list[Problem]:
    """Return what is wrong with the AZs that a network to be made has for load balancers alone."""
    if not load_balancer_zone_ids:
        return []
    problems = [
        replace(problem, path=(_PATH, *problem.path[1:]))
        for problem in check_zones(load_balancer_zone_ids, region=region)
        if problem.code != Code.ZONE_LIMIT
    ]
    problems += [
        Problem(
            code=Code.LOAD_BALANCER_ZONE,
            path=(_PATH, index),
            value=zone,
            message=f"{zone} is one of the network's AZs already, and load balancers stand there as well",
            allowed="AZs without compute subnets",
            remedy="leave it out, or name another AZ",
        )
        for index, zone in enumerate(load_balancer_zone_ids)
        if not is_unresolved(zone) and zone in availability_zone_ids
    ]
    room = most_load_balancer_zones(len(availability_zone_ids))
    if len(load_balancer_zone_ids) > room:
        problems.append(
            Problem(
                code=Code.LOAD_BALANCER_ZONE,
                path=(_PATH,),
                value=list(load_balancer_zone_ids),
                message=f"beside {len(availability_zone_ids)} AZs there is room for {room} more for load balancers",
                allowed=f"up to {room}",
                remedy="name none: load balancers stand in the network's own AZs"
                if len(availability_zone_ids) >= front_facts().zones
                else "keep one: a load balancer needs two AZs in all",
            )
        )
    return problems


def check_load_balancer_room(cidr: str, *, others: int) -> list[Problem]:
    """Return whether a part of the primary block has room for a load balancer beside `others` interfaces in it."""
    if is_unresolved(cidr):
        return []
    facts = front_facts()
    needed = facts.addresses_per_subnet + others + address_facts().reserved_per_subnet
    smallest = min(facts.smallest_subnet_prefix, 32 - (needed - 1).bit_length())
    most = smallest - (primary_slots() - 1).bit_length()
    if int(cidr.rpartition("/")[2]) <= most:
        return []
    return [
        Problem(
            code=Code.FRONT_SUBNET_SIZE,
            path=("network", "cidr"),
            value=cidr,
            message=f"a load balancer wants subnets of /{facts.smallest_subnet_prefix} or larger with "
            f"{facts.addresses_per_subnet} free addresses; {cidr} is cut into {primary_slots()} subnets, with {others} "
            "network interfaces in some already",
            allowed=f"/{address_facts().largest_block_prefix} to /{most}",
            remedy=f"choose a /{most} or larger",
        )
    ]


def check_load_balancer_place(
    zones: Sequence[str], *, target_zones: Sequence[str], public: bool, new_network: bool
) -> list[Problem]:
    """Return why no load balancer can stand in `zones`, before targets in `target_zones`.

    `new_network`: whether the network is made here, which says what to do about it.
    """
    kind = "public" if public else "private"
    if public and not zones:
        return [
            Problem(
                code=Code.FRONT_PUBLIC_SUBNETS,
                path=("front", "public"),
                value=True,
                message="the network has no public subnets, or nobody told of them",
                allowed="a network with a way to the internet",
                remedy="leave the front private, or give the network a NAT gateway"
                if new_network
                else "leave the front private, or name the network's public subnets (`public_subnets`)",
            )
        ]
    least = front_facts().zones
    missing = [zone for zone in target_zones if zone not in zones]
    problems: list[Problem] = []
    if len(zones) < least:
        problems.append(
            Problem(
                code=Code.FRONT_ZONES,
                path=("network", "availability_zone_ids"),
                value=list(zones),
                message=f"a load balancer stands in {least} AZs at least, and the network has {kind} subnets in "
                f"{len(zones)}",
                allowed=f"{least} AZs or more",
                remedy="add an AZ, or name one for load balancers alone (`load_balancer_zone_ids`), which moves nothing"
                if new_network
                else f"name the {kind} subnet of another AZ too (`{kind}_subnets`)",
            )
        )
    if missing:
        problems.append(
            Problem(
                code=Code.FRONT_ZONES,
                path=("network", f"{kind}_subnets"),
                value=list(zones),
                message=f"hosts stand in {', '.join(missing)}, where the load balancer does not, and it sends nothing "
                "to AZs that it is not in",
                allowed=f"subnets in {', '.join(target_zones)}",
                remedy=f"name a {kind} subnet there too",
            )
        )
    return problems
