"""Rules of new and existing networks, their VPC endpoints, and the subnets of load balancers.

Source for the subnets of load balancers:
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
    compute_subnet_cidrs,
    database_slots,
    load_balancer_zone,
    most_load_balancer_zones,
    primary_slots,
    private_slot,
    public_slot,
    slice_cidr,
)
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from llm_fleet.rules.values import check_retention_days, did_you_mean
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec

_ID = r"-(?:[0-9a-f]{8}|[0-9a-f]{17})"


def check_network(
    spec: NetworkSpec, *, endpoint_features: Collection[EndpointFeature] = (), region: str | None = None
) -> list[Problem]:
    """Return all that is wrong with a new network, by the attribute names of `NetworkSpec`.

    `endpoint_features`: additional uses that need VPC endpoints. `region`: `None` when it is resolved at deployment.
    """
    if spec.az is not None and spec.availability_zone_ids:
        return [
            spec.wrong(
                "availability_zone_ids",
                Code.CONTRADICTION,
                "set only one of `az` and `azs`",
                "keep `azs` for several AZs, or `az` for one",
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
    return [*problems, *_check_parts(spec)]


def missing_subnet_cidrs(spec: NetworkSpec, *, database: bool) -> list[str]:
    """Return the CIDR blocks of the subnets that the network creates; `database`: whether a database uses it."""
    existing, zones = spec.existing, spec.zones
    compute = compute_subnet_cidrs(spec.compute_cidr, zones)
    balanced = [load_balancer_zone(index) for index in range(len(spec.load_balancer_zone_ids))]
    slots = [*(private_slot(index) for index in range(len(zones))), *(private_slot(private) for private, _ in balanced)]
    if spec.internet != InternetAccess.NONE:
        slots += [
            *(public_slot(index) for index in range(len(zones))),
            *(public_slot(public) for _, public in balanced),
        ]
    if database and not (existing is not None and existing.database_subnets):
        slots += map(private_slot, database_slots())
    made = [cidr for zone, cidr in compute.items() if existing is None or zone not in existing.subnets]
    return [*filter(None, made), *(slice_cidr(spec.cidr, primary_slots(), slot) for slot in slots)]


@rule
def _check_parts(spec: NetworkSpec) -> Iterator[Problem]:
    """Return what is wrong with the existing parts of a network, below `existing`."""
    existing = spec.existing
    if existing is None or is_unresolved(existing):
        return
    ids: list[tuple[tuple[PathPart, ...], str, object]] = [
        (("vpc",), "vpc", existing.vpc),
        (("security_group",), "sg", existing.security_group),
        (("internet_gateway",), "igw", existing.internet_gateway),
        *((("subnets", zone), "subnet", subnet) for zone, subnet in existing.subnets.items()),
        *((("database_subnets", index), "subnet", one) for index, one in enumerate(existing.database_subnets)),
    ]
    for path, kind, value in ids:
        yield from (problem.under("existing") for problem in _check_id(path, kind, value))
    for zone in existing.subnets:
        if zone not in spec.zones:
            yield Problem(
                code=Code.ZONE_WITHOUT_SUBNET,
                path=("existing", "subnets", zone),
                message=f"{zone} is not one of the network's AZs",
                value=zone,
                allowed=", ".join(spec.zones),
                remedy=f"append {zone} to `azs`, or remove this subnet",
            )
    if len(existing.database_subnets) not in (0, len(database_slots())):
        yield existing.wrong(
            "database_subnets", Code.DATABASE_SUBNETS, "a database needs two subnets", "write both, or none"
        ).under("existing")


@rule
def check_existing_network(spec: ExistingNetworkSpec, *, region: str | None = None) -> Iterator[Problem]:
    """Return all that is wrong with the description of an existing network, by its attribute names."""
    given = {"subnets": spec.subnets, "private_subnets": spec.private_subnets, "public_subnets": spec.public_subnets}
    named = {name: zones for name, zones in given.items() if zones or name == "subnets"}
    for name, zones in named.items():
        for problem in check_zones(tuple(zones), region=region):  # Each problem gets the path of the subnet.
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
    """Return `problem` of the AZs at the path `az`, if that was set."""
    return problem if spec.az is None else replace(problem, path=("az",))


def _check_id(path: tuple[PathPart, ...], kind: str, value: object) -> Iterator[Problem]:
    """Return what is wrong with an id; a CDK object, or `None`, passes."""
    if isinstance(value, str) and not is_unresolved(value) and not re.fullmatch(kind + _ID, value):
        yield Problem(
            code=Code.EXISTING_ID,
            path=path,
            message=f"{value!r} is not the id of a {kind}",
            value=value,
            allowed=f"{kind}- and 8 or 17 hexadecimal digits",
            remedy=f"write the id as the console or `aws ec2` shows it, e.g. {kind}-0123456789abcdef0",
        )


def _check_quota(quota: int | None) -> Iterator[Problem]:
    if quota is not None and not is_unresolved(quota) and quota <= 0:
        yield Problem(
            code=Code.INTERFACE_QUOTA_VALUE,
            path=("interface_quota",),
            message="the quota of network interfaces must be above 0",
            value=quota,
            allowed="a positive number",
            remedy=f"remove it to use the default of {address_facts().interface_quota}",
        )


def _check_primary_split(cidr: str, endpoints: int) -> list[Problem]:
    """Each part of the primary CIDR must be large enough for all interface endpoints, or for the NAT gateway."""
    facts = address_facts()
    needed = endpoints + facts.reserved_per_subnet
    subnet = min(facts.smallest_block_prefix, 32 - (needed - 1).bit_length())
    what = f"{primary_slots()} subnets with {endpoints} interface endpoints each"
    return _check_split("cidr", cidr, primary_slots(), subnet, what)


def _check_compute_split(compute_cidr: str, zones: int) -> list[Problem]:
    """The compute CIDR must be large enough for a subnet in the last AZ, which has the smallest part."""
    smallest = address_facts().smallest_block_prefix
    slots, _ = compute_slot(zones - 1)
    count = "one AZ" if zones == 1 else f"{zones} AZs"
    what = f"{count}: each AZ gets half of the remaining addresses, so that another AZ can be added later"
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
            remedy=f"write a block of /{most} or larger",
        )


def interface_endpoints(
    internet: str, features: Collection[EndpointFeature] = (), extra: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the names of the interface endpoints: for nodes, for `features`, then `extra`, each once.

    Without internet access, nodes need one for every service that they call; with it, only those for sessions on nodes
    and their logs, which work even when the NAT gateway does not.
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
    """Return the number of NAT gateways of a network with `zones` AZs; they are in the first AZs, one in each."""
    return {InternetAccess.NONE: 0, InternetAccess.SHARED_NAT: 1}.get(InternetAccess(internet), zones)


def other_interfaces(
    availability_zone_ids: Sequence[str],
    internet: str,
    features: Collection[EndpointFeature] = (),
    extra: Sequence[str] = (),
    without: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, int]:
    """Return the number of network interfaces per AZ outside its compute subnet: endpoints and NAT gateways."""
    placed = endpoint_zones(interface_endpoints(internet, features, extra), availability_zone_ids, without)
    gateways = nat_gateways(internet, len(availability_zone_ids))
    return {
        zone: sum(zone in zones for zones in placed.values()) + (index < gateways)
        for index, zone in enumerate(availability_zone_ids)
    }


def endpoint_zones(
    names: Sequence[str], availability_zone_ids: Sequence[str], without: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the AZs in which each endpoint of `names` has an interface; endpoints without an AZ are omitted.

    `without`: AZ ids and the endpoints whose service AWS does not offer there. Interfaces in the other AZs are used
    instead: private DNS names resolve to all of them, and all subnets of the VPC are reachable.
    """
    left = {name: tuple(one for one in availability_zone_ids if name not in without.get(one, ())) for name in names}
    return {name: zones for name, zones in left.items() if zones}


@rule
def check_without_endpoints(
    without: Mapping[str, Sequence[str]], *, availability_zone_ids: Sequence[str], internet: str, names: Sequence[str]
) -> Iterator[Problem]:
    """Return what is wrong with `without`, endpoints that AZs do not have; `names`: all endpoints of the network."""
    unknown = [zone for zone in without if not is_unresolved(zone) and zone not in availability_zone_ids]
    for zone in unknown:
        yield Problem(
            code=Code.ZONE_WITHOUT_SUBNET,
            path=("without_endpoints", zone),
            message=f"the network has no AZ {zone}",
            value=zone,
            allowed=", ".join(availability_zone_ids),
            remedy=did_you_mean(
                zone, availability_zone_ids, otherwise="write an AZ of the network, or remove the line"
            ),
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
            message=f"no AZ has the endpoint {name}, and nodes without internet access cannot reach its service "
            "otherwise",
            value=", ".join(availability_zone_ids),
            allowed="at least one AZ that is not listed with it",
            remedy="add an AZ to `azs` in which AWS offers it: nodes in all AZs of the network can use it",
        )


@rule
def check_endpoints(endpoints: Sequence[str], *, path: tuple[str, ...] = ("endpoints",)) -> Iterator[Problem]:
    """Return a problem for each name for which AWS offers no interface endpoint. Names have no `com.amazonaws.…`."""
    for index, name in enumerate(endpoints):
        if not is_unresolved(name) and name not in endpoint_names():
            yield Problem(
                code=Code.ENDPOINT_UNKNOWN,
                path=(*path, index),
                message=f"AWS offers no interface endpoint {name!r}",
                value=name,
                allowed="the part after `com.amazonaws.<region>.` of the name of an endpoint service",
                remedy=_remedy(name),
            )


def _remedy(name: str) -> str:
    if name in {"s3", "dynamodb"}:
        return (
            "remove it: the network has a gateway endpoint for S3" if name == "s3" else "add a gateway endpoint for it"
        )
    plain = name.split(".", 3)[-1] if name.startswith("com.amazonaws.") else name
    return did_you_mean(
        plain, endpoint_names(), otherwise="write a name that `aws ec2 describe-vpc-endpoint-services` shows"
    )


_PATH = "load_balancer_zone_ids"


@rule
def check_load_balancer_zones(
    load_balancer_zone_ids: Sequence[str], *, availability_zone_ids: Sequence[str], region: str | None = None
) -> Iterator[Problem]:
    """Return what is wrong with the AZs that a new network has only for load balancers."""
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
                message=f"{zone} is already one of the network's AZs, which load balancers also use",
                allowed="AZs without compute subnets",
                remedy="remove it, or write another AZ",
            )
    room = most_load_balancer_zones(len(availability_zone_ids))
    if len(load_balancer_zone_ids) > room:
        yield Problem(
            code=Code.LOAD_BALANCER_ZONE,
            path=(_PATH,),
            value=list(load_balancer_zone_ids),
            message=f"a network with {len(availability_zone_ids)} AZs can have at most {room} more for load balancers",
            allowed=f"up to {room}",
            remedy="remove them: load balancers use the network's own AZs"
            if len(availability_zone_ids) >= front_facts().zones
            else "keep one: a load balancer needs two AZs in total",
        )


@rule
def check_load_balancer_room(cidr: str, *, others: int) -> Iterator[Problem]:
    """Return a problem when a part of the primary block is too small for a load balancer and `others` interfaces."""
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
            message=f"{cidr} is too small for a load balancer, which needs subnets of "
            f"/{facts.smallest_subnet_prefix} or larger with {facts.addresses_per_subnet} free addresses. It is split "
            f"into {primary_slots()} subnets, some with {others} network interfaces",
            allowed=f"/{address_facts().largest_block_prefix} to /{most}",
            remedy=f"write a block of /{most} or larger",
        )


@rule
def check_load_balancer_place(
    zones: Sequence[str], *, target_zones: Sequence[str], public: bool, new_network: bool
) -> Iterator[Problem]:
    """Return why a load balancer cannot be in `zones` with targets in `target_zones`.

    `new_network`: whether llm-fleet creates the network, on which the remedy depends.
    """
    kind = "public" if public else "private"
    if public and not zones:
        yield Problem(
            code=Code.FRONT_PUBLIC_SUBNETS,
            path=("front", "public"),
            value=True,
            message="a public load balancer needs public subnets, and the network has none, or they are not set",
            allowed="a network with internet access",
            remedy="remove `public`, or give the network a NAT gateway"
            if new_network
            else "remove `public`, or set the network's `public_subnets`",
        )
        return
    least = front_facts().zones
    missing = [zone for zone in target_zones if zone not in zones]
    if len(zones) < least:
        yield Problem(
            code=Code.FRONT_ZONES,
            path=("network", "availability_zone_ids"),
            value=list(zones),
            message=f"a load balancer needs {kind} subnets in at least {least} AZs, and the network has them in "
            f"{len(zones)}",
            allowed=f"{least} AZs or more",
            remedy="add an AZ, or one only for load balancers (`load_balancer_zone_ids`), which changes no other subnet"
            if new_network
            else f"add the {kind} subnet of another AZ to `{kind}_subnets`",
        )
    if missing:
        yield Problem(
            code=Code.FRONT_ZONES,
            path=("network", f"{kind}_subnets"),
            value=list(zones),
            message=f"hosts in {', '.join(missing)} would get no requests: the load balancer has no subnet there",
            allowed=f"subnets in {', '.join(target_zones)}",
            remedy=f"add a {kind} subnet in {', '.join(missing)}",
        )
