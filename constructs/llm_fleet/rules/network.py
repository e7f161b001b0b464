"""A network as a whole, one to be made or one that exists, its endpoints, and where its load balancers stand.

Source of the places of load balancers:
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html (subnets)
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from llm_fleet.catalog.network import address_facts, endpoint_names, node_endpoints
from llm_fleet.catalog.service import front_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network_layout import (
    check_cidrs,
    check_subnet_cidrs,
    check_vpc_cidrs,
    check_zones,
    compute_slot,
    most_load_balancer_zones,
    primary_slots,
)
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from llm_fleet.rules.values import check_retention_days, did_you_mean
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec

_ID = r"-(?:[0-9a-f]{8}|[0-9a-f]{17})"


def check_network(
    spec: NetworkSpec, *, endpoint_features: Collection[EndpointFeature] = (), region: str | None = None
) -> list[Problem]:
    """Return all that is wrong with a network to be made, by the attribute names of `NetworkSpec`.

    `endpoint_features`: what else nodes do that needs an endpoint. `region`: left out where only a deployment knows it.
    """
    if spec.az is not None and spec.availability_zone_ids:
        return [
            spec.wrong(
                "availability_zone_ids",
                Code.CONTRADICTION,
                "`az` and `azs` say the same thing twice",
                "keep `azs` for several AZs, `az` for one",
            )
        ]
    zones = spec.zones
    problems = [
        *(_of_one(spec, problem) for problem in check_zones(zones, region=region)),
        *check_cidrs(spec.cidr, spec.compute_cidr),
        *check_endpoints(spec.endpoints),
        *check_retention_days(spec.flow_log_days, Code.FLOW_LOG_DAYS, "flow_log_days"),
        *_check_quota(spec.interface_quota),
        *check_load_balancer_zones(spec.load_balancer_zone_ids, availability_zone_ids=zones, region=region),
    ]
    if not problems:
        names = interface_endpoints(spec.internet, endpoint_features, spec.endpoints)
        problems += check_without_endpoints(
            spec.without_endpoints, availability_zone_ids=zones, internet=spec.internet, names=names
        )
        problems += _check_primary_split(spec.cidr, len(names))
        problems += _check_compute_split(spec.compute_cidr, len(zones))
    return problems


@rule
def check_existing_network(spec: ExistingNetworkSpec, *, region: str | None = None) -> Iterator[Problem]:
    """Return all that is wrong with what is told of an existing network, by the attribute names of its description."""
    reported = {"subnets": spec.subnets, "private_subnets": spec.private_subnets, "public_subnets": spec.public_subnets}
    named = {name: zones for name, zones in reported.items() if zones or name == "subnets"}
    for name, zones in named.items():
        for problem in check_zones(tuple(zones), region=region):  # Each is placed where the subnet is named.
            where = (tuple(zones)[part] for part in problem.path if isinstance(part, int))
            yield replace(problem, path=(name, *where))
    yield from _check_id(("vpc",), "vpc", spec.vpc)
    for name, zones in named.items():
        for zone, subnet in zones.items():
            yield from _check_id((name, zone), "subnet", subnet)
    yield from check_vpc_cidrs(spec.vpc_cidrs)
    yield from check_subnet_cidrs(spec.compute_cidrs, spec.subnets)
    yield from _check_id(("security_group",), "sg", spec.security_group)


def _of_one(spec: NetworkSpec, problem: Problem) -> Problem:
    """Return `problem` of the AZs where the only AZ was named, if one was."""
    return problem if spec.az is None else replace(problem, path=("az",))


def _check_id(path: tuple[str, ...], kind: str, value: object) -> Iterator[Problem]:
    """Return what is wrong with an id; nothing of what is no text: an object of the CDK, or nothing at all."""
    if isinstance(value, str) and not is_unresolved(value) and not re.fullmatch(kind + _ID, value):
        yield Problem(
            code=Code.EXISTING_ID,
            path=path,
            message=f"{value!r} is no id of a {kind}",
            value=value,
            allowed=f"{kind}- and 8 or 17 hexadecimal digits",
            remedy=f"write the id as the console or `aws ec2` shows it, e.g. {kind}-0123456789abcdef0",
        )


def _check_quota(quota: int | None) -> Iterator[Problem]:
    if quota is not None and not is_unresolved(quota) and quota <= 0:
        yield Problem(
            code=Code.INTERFACE_QUOTA_VALUE,
            path=("interface_quota",),
            message="no account has a quota of that many network interfaces",
            value=quota,
            allowed="a positive number",
            remedy=f"leave it out for the default of {address_facts().interface_quota}",
        )


def _check_primary_split(cidr: str, endpoints: int) -> list[Problem]:
    """Ask of the primary CIDR that each part holds an endpoint of every service, or the NAT gateway."""
    facts = address_facts()
    needed = endpoints + facts.reserved_per_subnet
    subnet = min(facts.smallest_block_prefix, 32 - (needed - 1).bit_length())
    what = f"{primary_slots()} subnets that each have room for {endpoints} interface endpoints"
    return _check_split("cidr", cidr, primary_slots(), subnet, what)


def _check_compute_split(compute_cidr: str, zones: int) -> list[Problem]:
    """Ask of the compute CIDR that the last AZ, which has the smallest part, has a subnet."""
    smallest = address_facts().smallest_block_prefix
    slots, _ = compute_slot(zones - 1)
    count = "one AZ" if zones == 1 else f"{zones} AZs"
    what = f"{count}: each takes half of the addresses that are left, so that another AZ can be added later"
    return _check_split("compute_cidr", compute_cidr, slots, smallest, what)


@rule
def _check_split(name: str, cidr: str, slots: int, subnet_prefix: int, what: str) -> Iterator[Problem]:
    if is_unresolved(cidr):
        return
    most = subnet_prefix - (slots - 1).bit_length()
    if int(cidr.rpartition("/")[2]) > most:
        yield Problem(
            code=Code.CIDR_SPLIT,
            path=(name,),
            message=f"{cidr} is too small for {what}",
            value=cidr,
            allowed=f"/{address_facts().largest_block_prefix} to /{most}",
            remedy=f"choose a /{most} or larger",
        )


def interface_endpoints(
    internet: str, features: Collection[EndpointFeature] = (), extra: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the endpoints' names: those that nodes need, those of `features`, then `extra`, each once.

    Without internet, nodes need one for every service that they call; with it, only those by which a node whose way
    out is broken can still be entered and its logs read.
    """
    closed = internet == InternetAccess.NONE
    needed = [
        endpoint.name
        for endpoint in node_endpoints()
        if ("always" in endpoint.needed_by and (closed or endpoint.even_with_nat))
        or any(feature in endpoint.needed_by for feature in features)
    ]
    return tuple(dict.fromkeys([*needed, *extra]))


def nat_gateways(internet: str, zones: int) -> int:
    """Return how many NAT gateways a network of so many AZs has; they stand in its first AZs, one in each."""
    return {InternetAccess.NONE: 0, InternetAccess.SHARED_NAT: 1}.get(InternetAccess(internet), zones)


def other_interfaces(
    availability_zone_ids: Sequence[str],
    internet: str,
    features: Collection[EndpointFeature] = (),
    extra: Sequence[str] = (),
    without: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, int]:
    """Return how many network interfaces each AZ has outside its compute subnet: endpoints and NAT gateways."""
    placed = endpoint_zones(interface_endpoints(internet, features, extra), availability_zone_ids, without)
    gateways = nat_gateways(internet, len(availability_zone_ids))
    return {
        zone: sum(zone in zones for zones in placed.values()) + (index < gateways)
        for index, zone in enumerate(availability_zone_ids)
    }


def endpoint_zones(
    names: Sequence[str], availability_zone_ids: Sequence[str], without: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the AZs in which each endpoint of `names` has an interface; one that no AZ is left for is left out.

    `without`: for an AZ id, the endpoints whose service AWS does not offer there. Interfaces in the other AZs answer
    for it: private DNS names lead to all of them, and the route tables of the VPC reach every subnet of it.
    """
    left = {name: tuple(one for one in availability_zone_ids if name not in without.get(one, ())) for name in names}
    return {name: zones for name, zones in left.items() if zones}


@rule
def check_without_endpoints(
    without: Mapping[str, Sequence[str]], *, availability_zone_ids: Sequence[str], internet: str, names: Sequence[str]
) -> Iterator[Problem]:
    """Return what is wrong with the endpoints that AZs are to be without; `names`: all endpoints of the network."""
    unknown = [zone for zone in without if not is_unresolved(zone) and zone not in availability_zone_ids]
    for zone in unknown:
        yield Problem(
            code=Code.ZONE_WITHOUT_SUBNET,
            path=("without_endpoints", zone),
            message=f"the network has no AZ {zone}",
            value=zone,
            allowed=", ".join(availability_zone_ids),
            remedy=did_you_mean(zone, availability_zone_ids, otherwise="name an AZ of the network, or remove the line"),
        )
    problems = [
        problem
        for zone, left_out in without.items()
        for problem in check_endpoints(left_out, path=("without_endpoints", zone))
    ]
    yield from problems
    if unknown or problems or internet != InternetAccess.NONE:
        return
    for name in sorted(set(names) - set(endpoint_zones(names, availability_zone_ids, without))):
        yield Problem(
            code=Code.ENDPOINT_WITHOUT_ZONE,
            path=("without_endpoints",),
            message=f"no AZ is left for the endpoint {name}, and nodes of a closed network have no other way to it",
            value=", ".join(availability_zone_ids),
            allowed="an AZ at least that is not listed with it",
            remedy="add an AZ to `azs` in which AWS offers it: interfaces there answer for all AZs of the network",
        )


@rule
def check_endpoints(endpoints: Sequence[str], *, path: tuple[str, ...] = ("endpoints",)) -> Iterator[Problem]:
    """Return which of the names, as they stand after `com.amazonaws.<region>.`, AWS offers no endpoint for."""
    for index, name in enumerate(endpoints):
        if not is_unresolved(name) and name not in endpoint_names():
            yield Problem(
                code=Code.ENDPOINT_UNKNOWN,
                path=(*path, index),
                message=f"AWS offers no interface endpoint {name!r}",
                value=name,
                allowed="what follows `com.amazonaws.<region>.` in the name of an endpoint service",
                remedy=_remedy(name),
            )


def _remedy(name: str) -> str:
    if name in {"s3", "dynamodb"}:
        return "leave it out: S3 has its gateway endpoint already" if name == "s3" else "add a gateway endpoint for it"
    plain = name.split(".", 3)[-1] if name.startswith("com.amazonaws.") else name
    return did_you_mean(
        plain, endpoint_names(), otherwise="look the name up with `aws ec2 describe-vpc-endpoint-services`"
    )


_PATH = "load_balancer_zone_ids"


@rule
def check_load_balancer_zones(
    load_balancer_zone_ids: Sequence[str], *, availability_zone_ids: Sequence[str], region: str | None = None
) -> Iterator[Problem]:
    """Return what is wrong with the AZs that a network to be made has for load balancers alone."""
    if not load_balancer_zone_ids:
        return
    for problem in check_zones(load_balancer_zone_ids, region=region):
        if problem.code != Code.ZONE_LIMIT:
            yield replace(problem, path=(_PATH, *problem.path[1:]))
    for index, zone in enumerate(load_balancer_zone_ids):
        if not is_unresolved(zone) and zone in availability_zone_ids:
            yield Problem(
                code=Code.LOAD_BALANCER_ZONE,
                path=(_PATH, index),
                value=zone,
                message=f"{zone} is one of the network's AZs already, and load balancers stand there as well",
                allowed="AZs without compute subnets",
                remedy="leave it out, or name another AZ",
            )
    room = most_load_balancer_zones(len(availability_zone_ids))
    if len(load_balancer_zone_ids) > room:
        yield Problem(
            code=Code.LOAD_BALANCER_ZONE,
            path=(_PATH,),
            value=list(load_balancer_zone_ids),
            message=f"beside {len(availability_zone_ids)} AZs there is room for {room} more for load balancers",
            allowed=f"up to {room}",
            remedy="name none: load balancers stand in the network's own AZs"
            if len(availability_zone_ids) >= front_facts().zones
            else "keep one: a load balancer needs two AZs in all",
        )


@rule
def check_load_balancer_room(cidr: str, *, others: int) -> Iterator[Problem]:
    """Return whether a part of the primary block has room for a load balancer beside `others` interfaces in it."""
    if is_unresolved(cidr):
        return
    facts = front_facts()
    needed = facts.addresses_per_subnet + others + address_facts().reserved_per_subnet
    smallest = min(facts.smallest_subnet_prefix, 32 - (needed - 1).bit_length())
    most = smallest - (primary_slots() - 1).bit_length()
    if int(cidr.rpartition("/")[2]) > most:
        yield Problem(
            code=Code.FRONT_SUBNET_SIZE,
            path=("network", "cidr"),
            value=cidr,
            message=f"a load balancer wants subnets of /{facts.smallest_subnet_prefix} or larger with "
            f"{facts.addresses_per_subnet} free addresses; {cidr} is cut into {primary_slots()} subnets, with {others} "
            "network interfaces in some already",
            allowed=f"/{address_facts().largest_block_prefix} to /{most}",
            remedy=f"choose a /{most} or larger",
        )


@rule
def check_load_balancer_place(
    zones: Sequence[str], *, target_zones: Sequence[str], public: bool, new_network: bool
) -> Iterator[Problem]:
    """Return why no load balancer can stand in `zones`, before targets in `target_zones`.

    `new_network`: whether the network is made here, which says what to do about it.
    """
    kind = "public" if public else "private"
    if public and not zones:
        yield Problem(
            code=Code.FRONT_PUBLIC_SUBNETS,
            path=("front", "public"),
            value=True,
            message="the network has no public subnets, or nobody told of them",
            allowed="a network with a way to the internet",
            remedy="leave the front private, or give the network a NAT gateway"
            if new_network
            else "leave the front private, or name the network's public subnets (`public_subnets`)",
        )
        return
    least = front_facts().zones
    missing = [zone for zone in target_zones if zone not in zones]
    if len(zones) < least:
        yield Problem(
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
    if missing:
        yield Problem(
            code=Code.FRONT_ZONES,
            path=("network", f"{kind}_subnets"),
            value=list(zones),
            message=f"hosts stand in {', '.join(missing)}, where the load balancer does not, and it sends nothing "
            "to AZs that it is not in",
            allowed=f"subnets in {', '.join(target_zones)}",
            remedy=f"name a {kind} subnet there too",
        )
